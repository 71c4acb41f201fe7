// Tabs of which one is shown; which is part of the address.
import type { ComponentChildren } from "preact";
import { go, here, usePlace } from "../lib/url";

export interface Tab {
  key: string;
  label: string;
  count?: number | undefined;
}

/** Return the tab that the address names, or the first. */
export function useTab(tabs: Tab[], name = "tab"): string {
  const value = usePlace().query.get(name);
  return tabs.find(({ key }) => key === value)?.key ?? tabs[0]?.key ?? "";
}

export function Tabs({
  tabs,
  name = "tab",
  children,
}: {
  tabs: Tab[];
  name?: string;
  children: ComponentChildren;
}) {
  const chosen = useTab(tabs, name);
  const show = (key: string) => go(here({ [name]: key === tabs[0]?.key ? null : key }), true);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const index = tabs.findIndex(({ key }) => key === chosen);
    const next = tabs[(index + step + tabs.length) % tabs.length];
    if (!next) return;
    show(next.key);
    document.getElementById(`${name}-${next.key}`)?.focus();
  };
  return (
    <section class="tabbed">
      <div class="tabs" role="tablist" onKeyDown={move}>
        {tabs.map(({ key, label, count }) => (
          <button
            key={key}
            id={`${name}-${key}`}
            type="button"
            role="tab"
            aria-selected={key === chosen}
            aria-controls={`${name}-panel`}
            tabIndex={key === chosen ? 0 : -1}
            onClick={() => show(key)}
          >
            {label}
            {count !== undefined && <span class="aside"> {count}</span>}
          </button>
        ))}
      </div>
      <div id={`${name}-panel`} role="tabpanel" aria-labelledby={`${name}-${chosen}`}>
        {children}
      </div>
    </section>
  );
}
