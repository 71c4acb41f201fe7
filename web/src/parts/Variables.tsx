// What a reader may choose on a dashboard.
import type { Choice } from "../lib/variables";
import { Dropdown } from "./Dropdown";

export function Variables({ choices }: { choices: Choice[] }) {
  if (!choices.length) return null;
  return (
    <div class="controls variables">
      {choices.map((choice) => (choice.variable.multi ? <Several {...choice} /> : <One {...choice} />))}
    </div>
  );
}

function One({ variable, options, chosen, choose }: Choice) {
  const value = chosen[0] ?? variable.default ?? options[0] ?? "";
  return (
    <label class="choose" key={variable.name}>
      <span>{variable.label}</span>
      <select value={value || options[0]} onChange={(event) => choose([event.currentTarget.value])}>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}

function Several({ variable, options, chosen, choose }: Choice) {
  const few = chosen.length > 3 ? `${chosen.length} chosen` : chosen.join(", ");
  const turn = (option: string) =>
    choose(chosen.includes(option) ? chosen.filter((one) => one !== option) : [...chosen, option]);
  return (
    <div class="choose" key={variable.name}>
      <span>{variable.label}</span>
      <Dropdown kind="several" label={variable.label} text={few || `all ${options.length}`}>
        <button type="button" class="button" onClick={() => choose([])} disabled={!chosen.length}>
          All
        </button>
        {options.map((option) => (
          <label key={option}>
            <input type="checkbox" checked={chosen.includes(option)} onChange={() => turn(option)} /> {option}
          </label>
        ))}
      </Dropdown>
    </div>
  );
}
