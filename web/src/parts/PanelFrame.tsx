// What stands around each panel: its title, why to look, and the way to its query.
import type { ComponentChildren } from "preact";
import type { Panel } from "../lib/types";
import { link } from "../lib/url";
import { Commands } from "./Commands";
import { Copy } from "./CopyAs";

export function PanelFrame({
  panel,
  queries,
  children,
}: {
  panel: Panel;
  queries: string[];
  children: ComponentChildren;
}) {
  const explore = link("explore", { query: queries[0] ?? "" });
  return (
    <figure class={`panel ${panel.wide ? "wide" : ""}`}>
      <figcaption>
        <h3>{panel.title}</h3>
        <span class="tools">
          <Copy text={queries.join("\n")} label="Copy query" />
          <a href={explore}>Explore</a>
        </span>
        <p class="why">
          <Commands text={panel.why} />
        </p>
      </figcaption>
      {children}
    </figure>
  );
}
