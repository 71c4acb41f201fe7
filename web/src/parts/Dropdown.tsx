// Something that opens below its button, and closes by Escape or a click elsewhere.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dropdown({
  kind,
  label,
  text,
  children,
}: {
  kind: string;
  label: string;
  text: string;
  children: ComponentChildren | ((close: () => void) => ComponentChildren);
}) {
  const box = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (box.current) box.current.open = false;
  };
  useEffect(() => {
    const elsewhere = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) close();
    };
    document.addEventListener("pointerdown", elsewhere);
    document.addEventListener("focusin", elsewhere);
    return () => {
      document.removeEventListener("pointerdown", elsewhere);
      document.removeEventListener("focusin", elsewhere);
    };
  }, []);
  return (
    <details class={kind} ref={box} onKeyDown={(event) => event.key === "Escape" && close()}>
      <summary aria-label={`${label}: ${text}`}>{text}</summary>
      <div class="drop">{typeof children === "function" ? children(close) : children}</div>
    </details>
  );
}
