// One of a few, as a small labelled selection.

export function Select<T extends string>({
  label,
  options,
  value,
  choose,
}: {
  label: string;
  options: Record<T, string>;
  value: T;
  choose: (value: T) => void;
}) {
  return (
    <label class="choose">
      <span>{label}</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value as T)}>
        {Object.entries<string>(options).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
