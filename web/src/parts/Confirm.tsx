// A button that asks once more before it does something that cannot be undone.
import { useState } from "preact/hooks";

export function Confirm({
  label,
  question,
  act,
}: {
  label: string;
  question: string;
  act: () => Promise<void>;
}) {
  const [asking, setAsking] = useState(false);
  const [failed, setFailed] = useState("");
  const confirm = async () => {
    setAsking(false);
    try {
      await act();
    } catch (error) {
      setFailed(error instanceof Error ? error.message : String(error));
    }
  };
  if (!asking)
    return (
      <span class="confirm">
        <button type="button" class="button" onClick={() => setAsking(true)}>
          {label}
        </button>
        {failed && <span role="alert">{`${label} failed: ${failed}`}</span>}
      </span>
    );
  return (
    <span class="confirm">
      {question}
      <button type="button" class="button danger" onClick={() => void confirm()}>
        {label}
      </button>
      <button type="button" class="button" onClick={() => setAsking(false)}>
        Keep
      </button>
    </span>
  );
}
