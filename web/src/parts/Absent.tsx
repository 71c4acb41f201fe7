// What is not there: hatched, with the reason in a sentence; never a blank, never a zero.
import type { ComponentChildren } from "preact";
import { link } from "../lib/url";

export function Absent({ children, height }: { children: ComponentChildren; height?: number }) {
  return (
    <div class="absent" style={height ? { minHeight: `${height}px` } : undefined}>
      <p>{children}</p>
    </div>
  );
}

/** A value that may be absent, hatched with its reason as a hint. */
export function Missing({ why }: { why: string }) {
  return (
    <span class="missing" title={why || "not measured"}>
      <span class="unseen">{why || "not measured"}</span>
    </span>
  );
}

/** What a page shows until its first answer, and when there is none. */
export function Waiting({ error, what }: { error: Error | null; what: string }) {
  if (error)
    return (
      <Absent height={120}>
        {`${what} cannot be shown: ${error.message}. `}
        <a class="way" href={link("")}>
          To the cluster
        </a>
      </Absent>
    );
  return (
    <div class="waiting" aria-busy="true">
      <span>{what} is on its way</span>
    </div>
  );
}
