// Lets a few questions go at once: a browser has six connections to a server, and some are for who is not patient.

const AT_ONCE = 4;
let going = 0;
const waiting: (() => void)[] = [];

/** Do something when it is its turn, unless nobody wants it any more by then. */
export async function enqueue<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (going >= AT_ONCE) await new Promise<void>((turn) => waiting.push(turn));
  else going++;
  try {
    signal?.throwIfAborted();
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else going--;
  }
}
