// What stands in place of something that needs a sign-in or a role.
import { signIn, useSession } from "../lib/session";
import { Absent } from "./Absent";

/** Say what a viewer needs for something, such as "see traces". */
export function SignInFor({ what }: { what: string }) {
  const who = useSession();
  if (who === null) return null; // not known yet
  if (who.user)
    return <Absent height={100}>{`Requires role user to ${what}. Your role is ${who.role}.`}</Absent>;
  return (
    <Absent height={100}>
      <a class="way" href={signIn()}>
        {`Sign in to ${what}`}
      </a>
    </Absent>
  );
}
