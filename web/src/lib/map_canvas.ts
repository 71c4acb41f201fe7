// Draws the map on a canvas: neutral tones for amounts, colour for trouble alone, hatching for what is absent.
import { type Colouring, type Layout, level, type Spot } from "./gpu_map";
import { hatchPattern } from "./overlays";
import { colour } from "./theme";

export interface Lit {
  spot: number | null; // under the pointer or the keyboard
  job: string | null; // its cells stand out
}

const STATES: Record<string, string> = { warning: "warning", critical: "critical", lost: "critical" };

function blank(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const dot = devicePixelRatio || 1;
  canvas.width = width * dot;
  canvas.height = height * dot;
  const pen = canvas.getContext("2d")!;
  pen.scale(dot, dot);
  return pen;
}

function tones(): string[] {
  return ["n0", "n1", "n2", "n3", "n4", "n5"].map(colour);
}

/** Draw everything; what is lit lies on a canvas above, so that thousands of cells are drawn once. */
export function draw(canvas: HTMLCanvasElement, made: Layout, by: Colouring, width: number): void {
  const pen = blank(canvas, width, made.height);
  heads(pen, made);
  const scale = tones();
  for (const spot of made.spots) paint(pen, spot, by, scale);
}

/** Draw what stands out: the cells of a job, all others veiled, and the one that is chosen. */
export function light(canvas: HTMLCanvasElement, made: Layout, by: Colouring, lit: Lit, width: number): void {
  const pen = blank(canvas, width, made.height);
  if (lit.job !== null) {
    pen.globalAlpha = 0.75;
    pen.fillStyle = colour("card");
    pen.fillRect(0, 0, width, made.height);
    pen.globalAlpha = 1;
    heads(pen, made);
    const scale = tones();
    for (const spot of made.spots) if (spot.cell?.holder?.id === lit.job) paint(pen, spot, by, scale);
  }
  const chosen = lit.spot === null ? null : made.spots[lit.spot];
  if (!chosen) return;
  pen.strokeStyle = colour("ink");
  pen.lineWidth = 2;
  pen.strokeRect(chosen.x - 2, chosen.y - 2, chosen.width + 4, chosen.size + 4);
}

function heads(pen: CanvasRenderingContext2D, made: Layout): void {
  const family = getComputedStyle(document.body).fontFamily;
  pen.textBaseline = "top";
  pen.font = `600 11px ${family}`;
  pen.fillStyle = colour("ink-2");
  for (const { x, y, text } of made.heads) pen.fillText(text, x, y + 3);
  pen.font = `11px ${family}`;
  for (const { x, y, width, node, titled } of made.tiles) {
    if (!titled) continue;
    pen.fillStyle = colour(node.state === "up" ? "ink-3" : "critical");
    const text = node.state === "up" ? node.name : `${node.name} ${node.state}`;
    pen.fillText(text, x, y + 2, Math.max(width, 40));
  }
}

function paint(pen: CanvasRenderingContext2D, spot: Spot, by: Colouring, scale: string[]): void {
  const { x, y, width, size, cell, node } = spot;
  const amount = level(spot, by);
  const gone = cell ? cell.health === "lost" : node.state !== "up";
  if (gone || amount === null) {
    pen.fillStyle = scale[0]!;
    pen.fillRect(x, y, width, size);
    pen.fillStyle = hatchPattern(pen) ?? "transparent";
    pen.fillRect(x, y, width, size);
  } else {
    slices(pen, spot, scale[Math.min(5, Math.ceil(amount * 5))]!, scale);
  }
  const state = STATES[cell?.health ?? (node.state === "up" ? "" : "lost")];
  if (state) trouble(pen, spot, colour(state), by === "health");
}

/** A GPU that is cut into MIG instances shows each; one that nobody holds is empty. */
function slices(
  pen: CanvasRenderingContext2D,
  { x, y, width, size, cell }: Spot,
  tone: string,
  scale: string[],
): void {
  const parts = cell?.mig.length ? cell.mig : null;
  if (!parts) {
    pen.fillStyle = tone;
    pen.fillRect(x, y, width, size);
  } else {
    const each = (size - (parts.length - 1)) / parts.length;
    parts.forEach((part, i) => {
      pen.fillStyle = part.holder ? (tone === scale[0] ? scale[2]! : tone) : scale[0]!;
      pen.fillRect(x, y + i * (each + 1), width, each);
    });
  }
  pen.strokeStyle = scale[2]!;
  pen.lineWidth = 1;
  if (size > 9) pen.strokeRect(x + 0.5, y + 0.5, width - 1, size - 1);
}

function trouble(
  pen: CanvasRenderingContext2D,
  { x, y, width, size }: Spot,
  tone: string,
  whole: boolean,
): void {
  pen.strokeStyle = pen.fillStyle = tone;
  if (whole || size < 12) {
    pen.fillRect(x, y, width, size);
    return;
  }
  pen.lineWidth = 2;
  pen.strokeRect(x + 1, y + 1, width - 2, size - 2);
  pen.beginPath();
  pen.moveTo(x + width - 8, y);
  pen.lineTo(x + width, y);
  pen.lineTo(x + width, y + 8);
  pen.fill();
}

/** Return which cell is at a point, and which tile's title. */
export function hit(made: Layout, x: number, y: number): { spot: number | null; tile: number | null } {
  const spot = made.spots.findIndex(
    (s) => x >= s.x - 1 && x <= s.x + s.width + 1 && y >= s.y - 1 && y <= s.y + s.size + 1,
  );
  if (spot >= 0) return { spot, tile: null };
  const tile = made.tiles.findIndex(
    (t) => t.titled && x >= t.x && x <= t.x + t.width && y >= t.y && y < t.y + 17,
  );
  return { spot: null, tile: tile < 0 ? null : tile };
}

/** Return the cell one step away in a direction, the nearest one there. */
export function beside(made: Layout, from: number, dx: number, dy: number): number {
  const start = made.spots[from];
  if (!start) return 0;
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  made.spots.forEach((spot, i) => {
    const along = (spot.x - start.x) * dx + (spot.y - start.y) * dy;
    const across = Math.abs((spot.x - start.x) * dy) + Math.abs((spot.y - start.y) * dx);
    if (along <= 0 || (dx && across > start.size / 2)) return;
    const far = along + 3 * across;
    if (far < least) {
      least = far;
      best = i;
    }
  });
  return best;
}
