// The shell: which room is open, undo and redo, the link to what is on the screen, light and dark.
// A room is a module rooms/NAME.js; docs/playground.md says what it must export.

import { Connection } from "./lib/socket.js";
import { packed, unpacked } from "./lib/link.js";
import { Timeline } from "./lib/timeline.js";
import { onThemeChange, switchTheme } from "./lib/colours.js";

const element = (id) => document.getElementById(id);
const shared = {};  // what rooms leave for each other, such as the points
let open = null;    // { name, room, timeline }
const timelines = new Map();  // of the rooms that were open

// -- the server -------------------------------------------------------------------------------------------------

const connection = new Connection(
  () => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`,
  (state) => {
    document.documentElement.dataset.connection = state;
    const gone = state === "lost";
    element("trouble").hidden = !gone;
    element("trouble").textContent = gone ? "The server does not answer. Is it still running? Trying again …" : "";
    if (state === "open") open?.room?.refresh?.();
  },
);

// -- messages to the person -------------------------------------------------------------------------------------

let toastTimer = 0;

function toast(text) {
  element("toast").textContent = text;
  element("toast").classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => element("toast").classList.remove("shown"), 2600);
}

let spoken = "";

function announce(text) {
  if (text !== spoken) element("live").textContent = spoken = text;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // not allowed here: the old way
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// -- rooms ------------------------------------------------------------------------------------------------------

// state: from a link; null: as it was left, with the points of the room before
async function enter(name, state) {
  open?.room?.leave?.();
  if (!timelines.has(name)) timelines.set(name, new Timeline());
  const current = { name, room: null, timeline: timelines.get(name) };
  open = current;
  const module = await import(`./rooms/${name}.js`);
  if (open !== current) return;
  const root = element("room");
  root.replaceChildren();
  root.className = `room room-${name}`;
  const context = {
    shared,
    announce,
    toast,
    copy,
    ask: (kind, body, onAnswer) => connection.ask(name, kind, body, onAnswer),
    cancel: (kind) => connection.cancel(name, kind),
    commit: (value) => { current.timeline.record(value); afterChange(); },
  };
  current.room = module.mount(root, context, state ?? asLeft(current.timeline.current, module));
  for (const link of element("rooms").children) {
    if (link.dataset.room === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${element("rooms").querySelector("[aria-current]").textContent} · maxmargin playground`;
  afterChange();
}

// What a room showed when it was left, with the points that are there now, unless it has others of its own.
function asLeft(state, { ownPoints = () => false }) {
  if (state === null || ownPoints(state)) return state;
  return { ...state, points: shared.points ?? state.points };
}

let linkTimer = 0;

function afterChange() {
  element("undo").disabled = !open.timeline.canUndo;
  element("redo").disabled = !open.timeline.canRedo;
  clearTimeout(linkTimer);
  linkTimer = setTimeout(() => history.replaceState(null, "", link()), 250);
}

function link() {
  const state = open.timeline.current;
  return `#${open.name}${state === null ? "" : `/${packed(state)}`}`;
}

function travel(step) {
  if (!open?.room) return;
  const state = step < 0 ? open.timeline.undo() : open.timeline.redo();
  if (state === null) return;
  open.room.restore(state);
  afterChange();
  announce(step < 0 ? "undone" : "done again");
}

function fromAddress(names, address) {
  const [name, text] = new URL(address).hash.slice(1).split("/");
  if (!names.includes(name)) return [names[0], null];
  const state = text ? unpacked(text) : null;
  if (text && state === null) toast("The link is damaged; this is the room as it begins.");
  return [name, state];
}

// -- the page ---------------------------------------------------------------------------------------------------

element("undo").addEventListener("click", () => travel(-1));
element("redo").addEventListener("click", () => travel(1));
element("share").addEventListener("click", async () => {
  history.replaceState(null, "", link());
  await copy(location.href);
  toast("Link copied: it holds everything on the screen.");
});
element("skip").addEventListener("click", (event) => {
  event.preventDefault();
  element("room").focus();
});
element("theme").addEventListener("click", switchTheme);
onThemeChange(() => open?.room?.redraw?.());

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.closest("input[type=text], textarea")) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  travel(key === "y" || event.shiftKey ? 1 : -1);
});

const rooms = await (await fetch("/rooms.json")).json();
for (const { name, title } of rooms) {
  const anchor = document.createElement("a");
  anchor.href = `#${name}`;
  anchor.dataset.room = name;
  anchor.textContent = title;
  element("rooms").append(anchor);
}
const names = rooms.map((room) => room.name);
// The address of the event, not location: the link to the room that is being left may have been written there meanwhile.
addEventListener("hashchange", ({ newURL }) => enter(...fromAddress(names, newURL)));
await enter(...fromAddress(names, location.href));
