/** Commits that transactions share: those that arrive in one turn of the event loop wait for the disk once. */
import { Cause, Context, Deferred, Effect, Exit, References } from "effect"
import { SqlError } from "effect/sql/SqlError"
import { Durability, type make } from "./client.ts"

/** A commit that several transactions share. */
interface CommitGroup {
  /** Whether others may join; if not, the next transaction begins another group. */
  is_open: boolean
  /** Whether the group takes no more transactions: those that joined but have not begun move to the next one. */
  is_sealed: boolean
}
/**
 * Whether a transaction may share its commit with others that arrive in the same turn of the event loop, and the group
 * it is in. Each is a savepoint of its own and waits for the commit, refused or not.
 */
export const SharedCommit = Context.Reference<boolean | CommitGroup>("flightcase/sync/SharedCommit", {
  defaultValue: () => false
})
/**
 * Closes the group of the running transaction, whose changes must be committed before another transaction reads them.
 */
export const endSharedCommit: Effect.Effect<void> = Effect.map(SharedCommit, (group) => {
  if (typeof group !== "object") return
  group.is_open = false
  group.is_sealed = true
})

/** The database's failure in a cause; undefined if it has none. */
const lossOf = (cause: Cause.Cause<unknown>): Cause.Cause<SqlError> | undefined => {
  const failure = Cause.findErrorOption(cause)
  return failure._tag === "Some" && failure.value instanceof SqlError ? Cause.fail(failure.value) : undefined
}

interface OpenGroup extends CommitGroup {
  /** Transactions that have not ended. */
  running: number
  joined: number
  /** Commits once the turn of the event loop is over and no transaction is running. */
  settle: () => void
  /** Services of the shared transaction, once it has begun. */
  readonly begun: Deferred.Deferred<Context.Context<never>, SqlError>
  readonly committed: Deferred.Deferred<void, SqlError>
  /** The failure that made SQLite roll back everything. */
  lost: Cause.Cause<SqlError> | undefined
}
const shared_max = 16

type Share = NonNullable<Parameters<typeof make>[0]["share"]>

/** Begins a transaction that commits at the end of this turn of the event loop, once no joined one is running. */
const begin = (alone: Parameters<Share>[0]): OpenGroup => {
  const group: OpenGroup = {
    is_open: true,
    is_sealed: false,
    running: 0,
    joined: 0,
    settle: () => {},
    begun: Deferred.makeUnsafe(),
    committed: Deferred.makeUnsafe(),
    lost: undefined
  }
  const ended = Effect.callback<void>((resume) => {
    const turn = setImmediate(() => {
      group.settle = () => {
        if (group.running > 0) return
        group.is_open = false
        resume(Effect.void)
      }
      group.settle()
    })
    return Effect.sync(() => clearImmediate(turn))
  })
  const shared = alone(
    Effect.gen(function* () {
      yield* Deferred.succeed(group.begun, yield* Effect.context<never>())
      yield* ended
    })
  ).pipe(
    Effect.provideService(SharedCommit, group),
    Effect.provideService(References.TracerEnabled, false),
    Effect.onExit((exit) =>
      Effect.sync(() => {
        group.is_open = false
        Deferred.doneUnsafe(group.committed, exit)
        if (Exit.isFailure(exit)) Deferred.doneUnsafe(group.begun, Exit.failCause(exit.cause))
      })
    )
  )
  Effect.runFork(shared)
  return group
}

/** Lets transactions that ask for it share a commit; others are as before. */
export const sharedCommits: Share = (alone, transactionService, isTransaction) => {
  let current: OpenGroup | undefined
  const join = (): OpenGroup => {
    const group = current?.is_open === true ? current : begin(alone)
    current = group
    group.running++
    if (++group.joined >= shared_max) group.is_open = false
    return group
  }
  const share = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptibleMask((restore) => {
      const group = join()
      const moved = {}
      const begun = Effect.suspend(() => (group.is_sealed ? Effect.die(moved) : effect))
      const own = Effect.flatMap(restore(Deferred.await(group.begun)), (shared) =>
        restore(Effect.updateContext(alone(begun), (services: Context.Context<R>) => Context.merge(services, shared)))
      )
      return Effect.flatMap(Effect.exit(own), (exit) => {
        const isMoved = Exit.isFailure(exit) && Cause.squash(exit.cause) === moved
        group.running--
        if (!isTransaction() && Exit.isFailure(exit)) group.lost ??= lossOf(exit.cause)
        group.settle()
        if (isMoved) return restore(share(effect))
        const committed = Effect.catchCause(Deferred.await(group.committed), (cause) =>
          Effect.failCause(group.lost ?? cause)
        )
        return Effect.andThen(committed, exit)
      })
    })
  return (effect) =>
    Effect.withFiber((fiber) => {
      const isAsked = fiber.getRef(SharedCommit) !== false && fiber.getRef(Durability) === undefined
      const isNested = Context.getOption(fiber.context, transactionService)._tag === "Some"
      return isAsked && !isNested ? share(effect) : alone(effect)
    })
}
