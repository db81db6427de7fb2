/** Exports of a command's module, and its arguments. */
import type { Command } from "commander"

/** All commands, for the one that completes words of any other. */
export interface AllCommands {
  /** Every word a command line may begin with: commands made by hand and nouns of the API. */
  readonly firstWords: () => Promise<ReadonlyArray<string>>
  /** Declares the command of a word on the program; gives the words to parse. */
  readonly load: (program: Command, word: string, argv: ReadonlyArray<string>) => Promise<Array<string>>
}
export interface CommandModule {
  readonly declare: (program: Command, all: AllCommands) => void
}

/** Flags that every command takes. */
export interface Globals {
  readonly json?: boolean
  readonly offline?: boolean
  /** False after --no-input. */
  readonly input?: boolean
  readonly plan?: boolean
  readonly profile?: string
  readonly remote?: boolean
  readonly url?: string
  readonly token?: string
}
