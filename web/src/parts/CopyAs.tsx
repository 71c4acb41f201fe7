// Copies the matching call of vigie, or a query.
import { useState } from "preact/hooks";

export function Copy({ text, label, title }: { text: string; label: string; title?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copied(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="copy" title={title ?? text} onClick={() => void copy()}>
      {done ? "copied" : label}
    </button>
  );
}

/** "Copy as command": what one types in a terminal for the same. */
export function CopyAs({ command }: { command: string }) {
  return <Copy text={command} label="Copy as command" />;
}

async function copied(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea"); // without TLS there is no clipboard to write to
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
