/** Keeps answers that the server rejected in a file, with which `setup` can resume. */
import { writeFileSync } from "node:fs"
import type { House } from "./house.ts"

const names_max = 100
/** Writes answers to the current folder, without secrets; returns advice on how to continue. */
export const keepAnswers = (house: House): string => {
  const { smtp_url, ...mail } = house.mail ?? {}
  const content = `${JSON.stringify({ ...house, mail }, null, 2)}\n`
  const secret = smtp_url === undefined ? "" : " --smtp URL"
  for (let number = 1; number <= names_max; number++) {
    const file = `flightcase-setup${number === 1 ? "" : `-${number}`}.json`
    try {
      writeFileSync(file, content, { flag: "wx", mode: 0o600 })
    } catch (cause) {
      if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") continue
      return `Your answers could not be written down (${cause instanceof Error ? cause.message : String(cause)}).`
    }
    return (
      `Your answers are in ${file}: mend it, then flightcase setup --file ${file}${secret}.` +
      (secret === "" ? "" : " The mail server's address is not in it.")
    )
  }
  return "Your answers could not be written down."
}
