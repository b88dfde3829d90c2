// One WebSocket. Of every kind of request only the newest matters: older answers are dropped, never queued.

const TYPES = { u1: Uint8Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
// Requests of a kind that may be under way at a time: one is computed while the other travels.
const MOST_UNDER_WAY = 2;
const LONGEST_PAUSE = 5000;

export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const { name, dtype, shape, offset } of header.arrays) {
    const size = shape.reduce((product, one) => product * one, 1);
    arrays[name] = new TYPES[dtype](buffer, 4 + length + offset, size);
    arrays[name].shape = shape;
  }
  return { ...header, arrays };
}

class Lane {
  constructor() {
    this.underWay = new Map();  // id -> what to do with the answer
    this.waiting = null;        // [message, what to do]
    this.shown = 0;             // the newest request that was answered
  }
}

export class Connection {
  constructor(address, onState) {
    this.address = address;
    this.onState = onState;
    this.lanes = new Map();
    this.count = 0;
    this.pause = 250;
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(this.address());
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.pause = 250;
      this.onState("open");
      for (const lane of this.lanes.values()) this.flush(lane);
    };
    this.socket.onmessage = ({ data }) => this.receive(decode(data));
    this.socket.onclose = () => {
      for (const lane of this.lanes.values()) lane.underWay.clear();
      this.onState("lost");
      setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, LONGEST_PAUSE);
    };
  }

  lane(room, kind) {
    const key = `${room}/${kind}`;
    if (!this.lanes.has(key)) this.lanes.set(key, new Lane());
    return this.lanes.get(key);
  }

  // onAnswer({ values, arrays, last } or { error: { cause, message }, last })
  ask(room, kind, body, onAnswer) {
    const lane = this.lane(room, kind);
    lane.waiting = [{ room, kind, id: ++this.count, body }, onAnswer];
    this.flush(lane);
  }

  cancel(room, kind) {
    const lane = this.lane(room, kind);
    lane.waiting = null;
    lane.shown = this.count;
    if (!lane.underWay.size) return;
    lane.underWay.clear();
    if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ room, kind, id: ++this.count, cancel: true }));
    }
  }

  flush(lane) {
    if (!lane.waiting || this.socket.readyState !== WebSocket.OPEN || lane.underWay.size >= MOST_UNDER_WAY) return;
    const [message, onAnswer] = lane.waiting;
    lane.waiting = null;
    lane.underWay.set(message.id, onAnswer);
    this.socket.send(JSON.stringify(message));
  }

  receive(answer) {
    const lane = this.lane(answer.room, answer.kind);
    const onAnswer = lane.underWay.get(answer.id);
    for (const id of lane.underWay.keys()) {
      if (id < answer.id || (id === answer.id && answer.last)) lane.underWay.delete(id);
    }
    this.flush(lane);
    if (onAnswer && answer.id >= lane.shown) {
      lane.shown = answer.id;
      onAnswer(answer);
    }
  }
}
