// Data to begin with. The same seed gives the same points.

function generator(seed) {  // mulberry32
  let a = seed >>> 0;
  const uniform = () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

const cloud = (n, c, x, y, spread, { normal }) =>
  Array.from({ length: n }, () => ({ x: x + spread * normal(), y: y + spread * normal(), c }));

const ring = (n, c, radius, noise, { uniform, normal }) =>
  Array.from({ length: n }, () => {
    const angle = 2 * Math.PI * uniform();
    return { x: radius * Math.cos(angle) + noise * normal(), y: radius * Math.sin(angle) + noise * normal(), c };
  });

const arc = (n, c, sign, noise, { uniform, normal }) =>
  Array.from({ length: n }, () => {
    const angle = Math.PI * uniform();
    const x = sign * (1.5 * Math.cos(angle) - 0.75);
    const y = sign * (1.5 * Math.sin(angle) - 0.375);
    return { x: x + noise * normal(), y: y + noise * normal(), c };
  });

const arm = (n, c, turn, { normal }) =>
  Array.from({ length: n }, (_, i) => {
    const t = 0.25 + 2.65 * Math.sqrt((i + 0.5) / n);
    const angle = 2.6 * t + turn;
    return { x: t * Math.cos(angle) + 0.07 * normal(), y: t * Math.sin(angle) + 0.07 * normal(), c };
  });

const two = {
  linear: (g) => [...cloud(30, 1, -1.5, -0.7, 0.6, g), ...cloud(30, 2, 1.5, 0.7, 0.6, g)],
  circles: (g) => [...ring(35, 1, 0.9, 0.18, g), ...ring(45, 2, 2.2, 0.2, g)],
  moons: (g) => [...arc(45, 1, 1, 0.22, g), ...arc(45, 2, -1, 0.22, g)],
  xor: (g) => [
    ...cloud(20, 1, -1.4, 1.2, 0.45, g), ...cloud(20, 1, 1.4, -1.2, 0.45, g),
    ...cloud(20, 2, 1.4, 1.2, 0.45, g), ...cloud(20, 2, -1.4, -1.2, 0.45, g),
  ],
  spirals: (g) => [...arm(50, 1, 0, g), ...arm(50, 2, Math.PI, g)],
  outliers: (g) => [
    ...cloud(28, 1, -1.5, -0.5, 0.5, g), ...cloud(28, 2, 1.5, 0.5, 0.5, g),
    { x: 1.8, y: 1.3, c: 1 }, { x: 2.4, y: -0.3, c: 1 }, { x: -2.1, y: -1.3, c: 2 },
  ],
  imbalanced: (g) => [...cloud(90, 1, -0.6, -0.2, 0.9, g), ...cloud(9, 2, 1.7, 1.1, 0.45, g)],
};

const many = {
  "three classes": (g) => [
    ...cloud(25, 1, -1.6, -0.9, 0.55, g), ...cloud(25, 2, 1.6, -0.9, 0.55, g), ...cloud(25, 3, 0, 1.4, 0.55, g),
  ],
  "five classes": (g) => [0, 1, 2, 3, 4].flatMap((k) => {
    const angle = Math.PI / 2 + (2 * Math.PI * k) / 5;
    return cloud(16, k + 1, 1.9 * Math.cos(angle), 1.7 * Math.sin(angle), 0.45, g);
  }),
};

const curve = (n, f, noise, { normal, uniform }) =>
  Array.from({ length: n }, () => {
    const x = -3.6 + 7.2 * uniform();
    return { x, y: f(x) + noise * normal(), c: 1 };
  });

export const REGRESSION = {
  sine: (g) => curve(60, (x) => 1.5 * Math.sin(1.6 * x), 0.22, g),
  line: (g) => [...curve(40, (x) => 0.5 * x, 0.25, g), { x: -2.4, y: 2.3, c: 1 }, { x: 2.6, y: -1.8, c: 1 }],
  step: (g) => curve(60, (x) => (x > 0 ? 1.3 : -1.1), 0.15, g),
};

export const ONE_CLASS = {
  cloud: (g) => [...cloud(70, 1, 0, 0, 0.7, g), ...cloud(4, 1, 2.4, 1.7, 0.2, g), { x: -2.6, y: 1.9, c: 1 }],
  "two clouds": (g) => [...cloud(40, 1, -1.5, -0.6, 0.45, g), ...cloud(40, 1, 1.5, 0.7, 0.45, g), { x: 0, y: -2.3, c: 1 }],
  ring: (g) => [...ring(70, 1, 1.9, 0.17, g), { x: 0.1, y: 0.1, c: 1 }],
};

export const CLASSIFICATION = { ...two, ...many };

const rounded = (value) => Math.round(1000 * Math.max(-3.98, Math.min(3.98, value))) / 1000;

export function preset(presets, name, seed = 7) {
  return presets[name](generator(seed)).map(({ x, y, c }) => ({
    x: rounded(x), y: Math.max(-2.98, Math.min(2.98, rounded(y))), c,
  }));
}
