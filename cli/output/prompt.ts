/** Asks questions on a terminal, by standard error, so that standard output has only data. */
import { createPromptModule } from "inquirer"
import { questions } from "./out.ts"
import { oneLine } from "./text.ts"

const prompt = createPromptModule({ output: questions() })

export interface Choice<T> {
  readonly name: string
  readonly value: T
}

/** Returns the error of an answer; undefined if valid. */
export type Check = (text: string) => string | undefined
const validated =
  (check: Check | undefined) =>
  (text: string): string | true =>
    oneLine(check?.(text.trim()) ?? "") || true

/** Asks for a line of text, until `check` reports no error; an empty text is valid otherwise. */
export const promptText = async (
  message: string,
  options: { readonly default?: string; readonly check?: Check } = {}
): Promise<string> =>
  (
    await prompt([
      {
        type: "input",
        name: "answer",
        message: oneLine(message),
        ...(options.default === undefined ? {} : { default: oneLine(options.default) }),
        validate: validated(options.check)
      }
    ])
  ).answer.trim()

/** Asks for a line that is displayed as asterisks. */
export const promptSecret = async (message: string, check?: Check): Promise<string> =>
  (
    await prompt([
      { type: "password", name: "answer", message: oneLine(message), mask: "*", validate: validated(check) }
    ])
  ).answer.trim()

export const confirm = async (message: string): Promise<boolean> =>
  (await prompt([{ type: "confirm", name: "answer", message: oneLine(message), default: false }])).answer

/** Asks for one of a few choices. */
export const choose = async <T>(message: string, choices: ReadonlyArray<Choice<T>>): Promise<T> =>
  await prompt([
    {
      type: "select",
      name: "answer",
      message: oneLine(message),
      choices: choices.map(({ name, value }) => ({ name: oneLine(name), value }))
    }
  ]).then(({ answer }) => answer)
