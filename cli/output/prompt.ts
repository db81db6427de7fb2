/** Questions, on a terminal only; they go to standard error, so that standard output stays data. */
import { createPromptModule } from "inquirer"
import { questions } from "./out.ts"
import { oneLine } from "./text.ts"

const prompt = createPromptModule({ output: questions })

export interface Choice<T> {
  readonly name: string
  readonly value: T
}

/** Error of an answer; undefined if valid. */
export type Check = (text: string) => string | undefined
const validated =
  (check: Check | undefined) =>
  (text: string): string | true =>
    oneLine(check?.(text.trim()) ?? "") || true

/** Reads a line of text, again while `check` reports an error. An empty text is an answer. */
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

/** Reads a line without showing it. */
export const promptSecret = async (message: string, check?: Check): Promise<string> =>
  (
    await prompt([
      { type: "password", name: "answer", message: oneLine(message), mask: "*", validate: validated(check) }
    ])
  ).answer.trim()

export const confirm = async (message: string): Promise<boolean> =>
  (await prompt([{ type: "confirm", name: "answer", message: oneLine(message), default: false }])).answer

/** Reads one of a few choices. */
export const choose = async <T>(message: string, choices: ReadonlyArray<Choice<T>>): Promise<T> =>
  await prompt([
    {
      type: "select",
      name: "answer",
      message: oneLine(message),
      choices: choices.map(({ name, value }) => ({ name: oneLine(name), value }))
    }
  ]).then(({ answer }) => answer)
