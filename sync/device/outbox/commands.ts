/** Commands and their states, from acknowledgement to the verdict and, if refused, its resolution. */
import { firstOf } from "../../../core/values/text.ts"
import { contentsNamed, dependencies_max, type Verdict, type WireCommand, type WireError } from "../../protocol/wire.ts"
import type { CommandContext, CommandState, OutboxCommand, RecordedEffects, ResolutionRecorded } from "./rows.ts"
import { columns, command_states } from "./rows.ts"
import type { Leasing, OutboxDependencies } from "./leases.ts"
import { checksumOf, type OutboxTables } from "./tables.ts"

export interface OutboxCommands {
  /**
   * Appends a command and marks its ids as used, in one durable transaction; returns it with its number and the earlier
   * commands it depends on.
   */
  readonly append: (command: Omit<WireCommand, "n" | "needs">, about?: CommandContext) => WireCommand
  /** The last command appended by this process, even if it was rolled back since. */
  readonly lastAppended: () => WireCommand | undefined
  /** Stores additional ids that a command needed when it was decided again. */
  readonly extendIds: (n: number, ids: WireCommand["ids"]) => void
  /** Commands not yet settled, in order. */
  readonly pending: () => ReadonlyArray<OutboxCommand>
  /** Number of the newest pending command; 0 if none. */
  readonly lastPending: () => number
  /** Number of the newest command that is not pending; 0 if none. */
  readonly lastSettled: () => number
  /** Highest number ever assigned; 0 before the first. */
  readonly lastN: () => number
  /** All commands ever recorded, in order. */
  readonly all: () => ReadonlyArray<OutboxCommand>
  readonly byState: (state: CommandState) => ReadonlyArray<OutboxCommand>
  readonly find: (id: string) => OutboxCommand | undefined
  /** Commands recorded to resolve this one, in order. */
  readonly successors: (id: string) => ReadonlyArray<OutboxCommand>
  /** Held commands that wait for this one, in order. */
  readonly heldBy: (id: string) => ReadonlyArray<OutboxCommand>
  /**
   * Stores verdicts from the journal; safe to repeat. An undecided command is held by its cause; so is one refused for
   * its row's state after an earlier command on that row was refused.
   */
  readonly settle: (
    verdicts: ReadonlyArray<{
      readonly n: number
      readonly status: Verdict["status"]
      readonly error?: WireError | undefined
    }>
  ) => void
  /** Marks a refused or held command as resolved. It stays in the history. */
  readonly resolve: (id: string, how: ResolutionRecorded | "dropped") => void
  /** Makes a held command wait for another one; `unhold` makes it a conflict of its own. */
  readonly holdFor: (id: string, cause: string) => void
  readonly unhold: (id: string, error: WireError) => void
  readonly counts: () => { readonly [state: string]: number }
  /** Hashes of files that commands reference: those of pending and refused commands, and those of all others. */
  readonly filesNamed: () => { readonly unsettled: ReadonlySet<string>; readonly settled: ReadonlySet<string> }
}

/** The outbox keeps undo data for this many of the latest commands. */
const undoable_commands_max = 500

/** States of commands without a verdict, or waiting for a decision by the user. */
const unsettled_states: ReadonlySet<CommandState> = new Set(["pending", "rejected", "held"])
/** Reads state by state through the index, as reading all commands each time would be slow. */
const highest_settled = `select max(n) from (${command_states
  .filter((state) => state !== "pending")
  .map((state) => `select max(n) as n from commands where state = '${state}'`)
  .join(" union all ")})`
/** Whether a command was refused for the state or absence of a row, and not for its own values. */
const isAboutState = (error: WireError | undefined): boolean =>
  error?.status === 404 || Object.keys(error?.errors ?? {}).some((field) => field === "state" || field === "status")

/** Relations between commands: which replace one, and what a resolution takes over from the command it resolves. */
const relationsOf = ({ all, kept }: OutboxTables) => {
  const find = (id: string): OutboxCommand | undefined =>
    all(`select ${columns} from commands where id = ?`, id).map(kept)[0]
  const successorsOf = (id: string): ReadonlyArray<OutboxCommand> =>
    all(`select ${columns} from commands where replaces = ? order by n`, id).map(kept)
  /**
   * Guard of a command that resolves another. A held command keeps its guard; on retrying a conflict the user has seen
   * the other change.
   */
  const guardOf = ({ replaces, unless_changed }: CommandContext) =>
    replaces?.how === "released" ? find(replaces.id)?.unless_changed : unless_changed
  /** Ids of the commands that now replace a command; its own id if none does. */
  const todayOf = (id: string): ReadonlyArray<string> => {
    const later = successorsOf(id)
    return later.length === 0 ? [id] : later.flatMap((one) => todayOf(one.id))
  }
  /**
   * Ids of the commands that a command undoes. One that resolves the conflict of an undo undoes the same commands, or
   * their replacements.
   */
  const undoesOf = ({ replaces, undoes }: CommandContext): ReadonlyArray<string> => {
    const taken_back = undoes ?? (replaces === undefined ? [] : (find(replaces.id)?.undoes ?? []))
    return [...new Set(taken_back.flatMap(todayOf))]
  }
  return { find, successorsOf, guardOf, undoesOf }
}

const resolvingOver = ({ prepared }: OutboxTables) => {
  // The condition lets a command be dropped or replaced only once, and releases only held ones.
  const resolveOne = prepared(
    "update commands set state = ? where id = ? and (state = 'held' or (state = 'rejected' and ? <> 'released'))"
  )
  return (id: string, how: ResolutionRecorded | "dropped") => resolveOne.run(how, id, how)
}

/** JSON of a command's effects and of its undo data; what they share is encoded once. */
const effectsTexts = ({ done, recorded }: CommandContext) => {
  const texts = new Map<unknown, string>()
  const textOf = (value: unknown): string => {
    const text = texts.get(value) ?? JSON.stringify(value)
    texts.set(value, text)
    return text
  }
  const effects = ({ events, rows }: RecordedEffects): string => {
    const named = Object.entries(rows).map(([row, values]) => `${JSON.stringify(row)}:${textOf(values)}`)
    return `"events":${textOf(events)},"rows":{${named.join(",")}}`
  }
  return [
    recorded === undefined ? null : `{${effects(recorded)}}`,
    done === undefined ? null : `{${effects(done)},"made":${JSON.stringify(done.made)}}`
  ] as const
}

/** Stores a command, its dependencies and the ids it uses in one transaction. */
const recordingOver = (
  tables: OutboxTables,
  { takeIds }: Pick<Leasing, "takeIds">,
  { saveCreatedRows, trackDependencies, seenOf }: OutboxDependencies
): Pick<OutboxCommands, "append" | "lastAppended" | "extendIds"> => {
  const { all, prepared, sign, transaction } = tables
  let last_appended: WireCommand | undefined
  const { guardOf, undoesOf } = relationsOf(tables)
  const resolveOne = resolvingOver(tables)
  return {
    lastAppended: () => last_appended,
    append: (command, about = {}) => {
      const appended = transaction((): WireCommand => {
        const last = firstOf(
          all(`select coalesce((select max(n) from commands), 0) as n, coalesce((${highest_settled}), 0) as settled`)
        )
        const n = Number(last["n"]) + 1
        const { base, replaces, run } = about
        const unless_changed = guardOf(about)
        const makers = trackDependencies(n, command.ids, about)
        const needs = [...new Set([...(about.needs ?? []), ...makers])].slice(0, dependencies_max)
        const rows_seen = seenOf(about)
        const [payload, ids] = [JSON.stringify(command.payload), JSON.stringify(command.ids)]
        prepared(
          "insert into commands (n, id, name, payload, ids, issued_at, needs, base, replaces, settled_before, " +
            "outcome, done, rows_seen, run, undoes, unless_changed, checksum) " +
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ).run(
          n,
          command.id,
          command.name,
          payload,
          ids,
          command.issued_at,
          JSON.stringify(needs),
          base ?? null,
          replaces?.id ?? null,
          Number(last["settled"]),
          ...effectsTexts(about),
          JSON.stringify(rows_seen),
          run ?? null,
          JSON.stringify(undoesOf(about)),
          unless_changed === undefined ? null : JSON.stringify(unless_changed),
          checksumOf({ ...command, n, payload, ids })
        )
        if (n > undoable_commands_max)
          prepared("update commands set done = null where n = ?").run(n - undoable_commands_max)
        if (replaces !== undefined) resolveOne(replaces.id, replaces.how)
        takeIds(command.ids)
        return {
          ...command,
          n,
          ...(needs.length === 0 ? {} : { needs }),
          ...(Object.keys(rows_seen).length === 0 ? {} : { rows_seen }),
          ...(unless_changed === undefined ? {} : { unless_changed })
        }
      })
      last_appended = appended
      return appended
    },
    extendIds: (n, ids) =>
      transaction(() => {
        prepared("update commands set ids = ? where n = ?").run(JSON.stringify(ids), n)
        sign(n)
        saveCreatedRows(n, ids)
        takeIds(ids)
      })
  }
}

const settlingOver = (
  tables: OutboxTables,
  { followed, untrackDependencies }: OutboxDependencies
): Pick<OutboxCommands, "settle" | "resolve" | "holdFor" | "unhold"> => {
  const { prepared, transaction } = tables
  const resolveOne = resolvingOver(tables)
  return {
    settle: (verdicts) => {
      if (verdicts.length === 0) return
      transaction(() => {
        const write = prepared("update commands set state = ?, error = ?, cause = ? where n = ? and state = 'pending'")
        for (const { n, status, error } of [...verdicts].sort((one, other) => one.n - other.n)) {
          const cause =
            status === "accepted" ? undefined : (error?.cause ?? (isAboutState(error) ? followed(n) : undefined))
          write.run(
            cause === undefined ? status : "held",
            error === undefined ? null : JSON.stringify(error),
            cause ?? null,
            n
          )
          if (status === "accepted") untrackDependencies(n)
        }
      })
    },
    resolve: (id, how) => {
      transaction(() => resolveOne(id, how))
    },
    holdFor: (id, cause) => {
      transaction(() => prepared("update commands set cause = ? where id = ? and state = 'held'").run(cause, id))
    },
    unhold: (id, error) => {
      transaction(() =>
        prepared("update commands set state = 'rejected', cause = null, error = ? where id = ? and state = 'held'").run(
          JSON.stringify(error),
          id
        )
      )
    }
  }
}

export const openCommandStore = (
  tables: OutboxTables,
  leasing: Pick<Leasing, "takeIds">,
  dependencies: OutboxDependencies
): OutboxCommands => {
  const { all, kept, lastN, numberOf } = tables
  const { find, successorsOf } = relationsOf(tables)
  return {
    ...recordingOver(tables, leasing, dependencies),
    ...settlingOver(tables, dependencies),
    pending: () => all(`select ${columns} from commands where state = 'pending' order by n`).map(kept),
    lastN,
    lastSettled: () => numberOf(`select coalesce((${highest_settled}), 0) as n`),
    lastPending: () => numberOf("select coalesce(max(n), 0) as n from commands where state = 'pending'"),
    all: () => all(`select ${columns} from commands order by n`).map(kept),
    byState: (state) => all(`select ${columns} from commands where state = ? order by n`, state).map(kept),
    find,
    successors: successorsOf,
    heldBy: (id) => all(`select ${columns} from commands where state = 'held' and cause = ? order by n`, id).map(kept),
    filesNamed: () => {
      const named = all(`select ${columns} from commands where payload like '%"sha256":"%'`).map(kept)
      const [waiting, settled] = [true, false].map((is) =>
        contentsNamed(named.filter(({ state }) => unsettled_states.has(state) === is))
      )
      return { unsettled: new Set(waiting), settled: new Set(settled) }
    },
    counts: () =>
      Object.fromEntries(
        all("select state, count(*) as n from commands group by state").map((row) => [
          String(row["state"]),
          Number(row["n"])
        ])
      )
  }
}
