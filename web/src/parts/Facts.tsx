// Facts of a page's header that several pages share.
import { clock, exact } from "../lib/time";
import { link, path } from "../lib/url";
import type { Fact } from "./PageHeader";

const MAX_NAMES = 4; // names in a line

export function userFact(user: string): Fact | null {
  return user ? { label: "user", value: <a href={link(path("user", user))}>{user}</a> } : null;
}

export function nodesFact(nodes: string[]): Fact | null {
  if (!nodes.length) return null;
  const more = nodes.length - MAX_NAMES;
  return {
    label: nodes.length === 1 ? "node" : `${nodes.length} nodes`,
    value: (
      <>
        {nodes.slice(0, MAX_NAMES).map((node, i) => (
          <span key={node}>
            {i > 0 && ", "}
            <a href={link(path("node", node))}>{node}</a>
          </span>
        ))}
        {more > 0 && ` and ${more} more`}
      </>
    ),
  };
}

export function plainFact(label: string, value: string | null | undefined): Fact | null {
  return value ? { label, value } : null;
}

export function timeFact(label: string, ms: number | null, now: number): Fact | null {
  return ms === null ? null : { label, value: <time title={exact(ms)}>{clock(ms, now)}</time> };
}
