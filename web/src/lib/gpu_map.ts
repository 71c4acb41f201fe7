// Where each GPU of the map stands, and how dark it is.
import type { ClusterNode, GpuCell } from "./types";

export const GROUPS = { partition: "partition", rack: "rack", job: "job", model: "model" } as const;
export const COLOURS = {
  holder: "holder",
  working: "working",
  sm: "SM activity",
  memory: "memory",
  power: "power",
  temperature: "temperature",
  health: "health",
} as const;
export type Grouping = keyof typeof GROUPS;
export type Colouring = keyof typeof COLOURS;

export interface Spot {
  x: number;
  y: number;
  size: number;
  width: number;
  node: ClusterNode;
  cell: GpuCell | null; // null: a node without GPUs, by its CPU
}

export interface Tile {
  x: number;
  y: number;
  width: number;
  node: ClusterNode;
  titled: boolean;
}

export interface Layout {
  spots: Spot[];
  tiles: Tile[];
  heads: { x: number; y: number; text: string }[];
  height: number;
}

interface Sizes {
  cell: number;
  gap: number;
  across: number; // cells in a row of a tile
  title: number;
  between: number;
}

/** Few nodes fill the width, many become dots; always eight GPUs a row while names can be read. */
function sizesFor(cells: number, nodes: number, width: number): Sizes {
  if (cells <= 160) {
    const [gap, between, across] = [3, 14, 8];
    const tiles = Math.max(1, Math.floor((width + between) / (across * (width < 480 ? 19 : 24) + between)));
    const cell = Math.floor(((width + between) / tiles - between + gap) / across - gap);
    return { cell: Math.min(cell, 34), gap, across, title: 18, between };
  }
  if (cells <= 640) return { cell: 14, gap: 2, across: 8, title: 15, between: 10 };
  return { cell: nodes > 400 ? 8 : 10, gap: 1, across: 4, title: 0, between: 5 };
}

/** Return the name of the group a node, or one of its GPUs, belongs to. */
function groupOf(node: ClusterNode, cell: GpuCell | null, by: Grouping): string {
  if (by === "job") return cell?.holder ? cell.holder.name || cell.holder.id : "free";
  if (by === "model") return cell?.model || "no GPU";
  return node.labels[by] || `no ${by}`;
}

interface Part {
  node: ClusterNode;
  cells: (GpuCell | null)[];
}

function grouped(nodes: ClusterNode[], by: Grouping): [string, Part[]][] {
  const groups = new Map<string, Map<string, Part>>();
  for (const node of nodes) {
    const cells: (GpuCell | null)[] = node.cells.length ? node.cells : [null];
    for (const cell of cells) {
      const name = groupOf(node, cell, by);
      const parts = groups.get(name) ?? new Map<string, Part>();
      groups.set(name, parts);
      const part = parts.get(node.name) ?? { node, cells: [] };
      parts.set(node.name, part);
      part.cells.push(cell);
    }
  }
  const size = (parts: Map<string, Part>) =>
    [...parts.values()].reduce((sum, { cells }) => sum + cells.length, 0);
  const last = (name: string, parts: Map<string, Part>) =>
    Number(name === "free" || [...parts.values()].every(({ cells }) => cells[0] === null));
  return [...groups]
    .sort(
      ([a, x], [b, y]) =>
        last(a, x) - last(b, y) ||
        (by === "job" ? size(y) - size(x) : a.localeCompare(b, "en", { numeric: true })),
    )
    .map(([name, parts]) => [name, [...parts.values()]]);
}

/** Return the map of some nodes on so many pixels. */
export function layout(nodes: ClusterNode[], by: Grouping, width: number): Layout {
  const count = nodes.reduce((sum, node) => sum + Math.max(node.cells.length, 1), 0);
  const sizes = sizesFor(count, nodes.length, width);
  const made: Layout = { spots: [], tiles: [], heads: [], height: 0 };
  let y = 0;
  const groups = grouped(nodes, by);
  for (const [name, parts] of groups) {
    const titled = groups.length > 1 || !name.startsWith("no "); // one group without a name needs no head
    if (titled) made.heads.push({ x: 0, y, text: name });
    y = placed(made, parts, sizes, y + (titled ? 20 : 0), width) + sizes.between;
  }
  made.height = Math.max(y, 1);
  return made;
}

function placed(made: Layout, parts: Part[], sizes: Sizes, top: number, width: number): number {
  const { cell, gap, title, between } = sizes;
  let x = 0;
  let y = top;
  let tallest = 0;
  for (const { node, cells } of parts) {
    const across = Math.min(sizes.across, Math.max(cells.length, title ? 4 : 1));
    const wide = across * (cell + gap) - gap;
    const tall = title + Math.ceil(cells.length / sizes.across) * (cell + gap);
    if (x + wide > width && x > 0) {
      x = 0;
      y += tallest + between;
      tallest = 0;
    }
    made.tiles.push({ x, y, width: wide, node, titled: title > 0 });
    cells.forEach((one, i) => {
      const column = i % sizes.across;
      const row = Math.floor(i / sizes.across);
      made.spots.push({
        x: x + column * (cell + gap),
        y: y + title + row * (cell + gap),
        size: cell,
        width: one ? cell : wide,
        node,
        cell: one,
      });
    });
    tallest = Math.max(tallest, tall);
    x += wide + between;
  }
  return y + tallest;
}

/** Return how much of the scale a GPU takes: 0 to 1, null if it is not known; a holder is one of five tones. */
export function level({ node, cell }: Pick<Spot, "node" | "cell">, by: Colouring): number | null {
  if (!cell) return node.cpu;
  switch (by) {
    case "holder":
      return cell.holder ? (1 + (toneOf(cell.holder.id) % 4)) / 4 : 0;
    case "working":
      return cell.working === null ? (cell.holder ? null : 0) : cell.working ? 1 : cell.holder ? 0.3 : 0;
    case "sm":
      return cell.sm;
    case "memory":
      return cell.memory;
    case "power":
      return cell.power !== null && cell.power_limit ? cell.power / cell.power_limit : null;
    case "temperature":
      return cell.temperature === null ? null : Math.min(1, Math.max(0, (cell.temperature - 25) / 65));
    case "health":
      return 0;
  }
}

function toneOf(id: string): number {
  let sum = 7;
  for (let i = 0; i < id.length; i++) sum = (sum * 31 + id.charCodeAt(i)) >>> 0;
  return sum;
}
