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
 * it is in. Each after the first is a savepoint of its own and waits for the commit, refused or not.
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
  /** Services of the shared transaction, once its first one has succeeded. */
  readonly begun: Deferred.Deferred<Context.Context<never>, SqlError>
  readonly committed: Deferred.Deferred<void, SqlError>
  /** The failure that made SQLite roll back everything. */
  lost: Cause.Cause<SqlError> | undefined
}
const shared_max = 16

type Share = NonNullable<Parameters<typeof make>[0]["share"]>

const newGroup = (): OpenGroup => ({
  is_open: true,
  is_sealed: false,
  running: 0,
  joined: 0,
  settle: () => {},
  begun: Deferred.makeUnsafe(),
  committed: Deferred.makeUnsafe(),
  lost: undefined
})
/** Waits until no transaction runs and this turn of the event loop is over; if others joined, the next turn as well. */
const ended = (group: OpenGroup): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const settles = (): void => {
      group.settle = () => {
        if (group.running > 0) return
        group.is_open = false
        resume(Effect.void)
      }
      group.settle()
    }
    setImmediate(() => (group.joined > 1 ? setImmediate(settles) : settles()))
  })

/** Lets transactions that ask for it share a commit; others are as before. */
export const sharedCommits: Share = (alone, transactionService, isTransaction) => {
  let current: OpenGroup | undefined
  /** Ends transactions that have joined but not begun: they run in another group. */
  const moved = Cause.die({})
  const isMoved = (exit: Exit.Exit<unknown, unknown>): boolean =>
    Exit.isFailure(exit) && Cause.squash(exit.cause) === Cause.squash(moved)

  /** Runs the first effect as the transaction. If it fails, it is rolled back, and those that joined it move. */
  const lead = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.contextWith((services: Context.Context<R>) => {
      const group = newGroup()
      current = group
      group.running = group.joined = 1
      let has_begun = false
      const own = Effect.uninterruptibleMask((restore) =>
        Effect.contextWith((shared: Context.Context<never>) => {
          has_begun = true
          const first = Effect.updateContext<A, E, R, never>(effect, () => Context.merge(services, shared))
          return Effect.tap(restore(first), () => {
            group.running--
            Deferred.doneUnsafe(group.begun, Exit.succeed(shared))
            return ended(group)
          })
        })
      )
      /** Context of the shared transaction: none of the first effect's services, and no spans. */
      const alike: (own: Context.Context<never>) => Context.Context<never> = () =>
        Context.make(SharedCommit, group).pipe(Context.add(References.TracerEnabled, false))
      return Effect.updateContext(alone(own), alike).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            group.is_open = false
            if (Exit.isSuccess(exit)) return Deferred.doneUnsafe(group.committed, Exit.void)
            const loss = lossOf(exit.cause)
            Deferred.doneUnsafe(group.begun, Exit.failCause(has_begun ? moved : (loss ?? moved)))
            return Deferred.doneUnsafe(group.committed, Exit.failCause(loss ?? Cause.die(Cause.squash(exit.cause))))
          })
        ),
        Effect.catchCause((cause) => Effect.failCause(group.lost ?? cause))
      )
    })
  /** Runs another effect as a savepoint of the group; it waits for the commit, refused or not. */
  const join = <A, E, R>(group: OpenGroup, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptibleMask((restore) => {
      group.running++
      if (++group.joined >= shared_max) group.is_open = false
      const begun = Effect.suspend(() => (group.is_sealed ? Effect.failCause(moved) : effect))
      const own = Effect.flatMap(restore(Deferred.await(group.begun)), (shared) =>
        restore(Effect.updateContext(alone(begun), (services: Context.Context<R>) => Context.merge(services, shared)))
      )
      return Effect.flatMap(Effect.exit(own), (exit) => {
        group.running--
        if (!isTransaction() && Exit.isFailure(exit) && !isMoved(exit)) group.lost ??= lossOf(exit.cause)
        group.settle()
        if (isMoved(exit)) return restore(share(effect))
        const committed = Effect.catchCause(Deferred.await(group.committed), (cause) =>
          Effect.failCause(group.lost ?? cause)
        )
        return Effect.andThen(committed, exit)
      })
    })
  const share = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.suspend(() => (current?.is_open === true ? join(current, effect) : lead(effect)))
  return (effect) =>
    Effect.withFiber((fiber) => {
      const isAsked = fiber.getRef(SharedCommit) !== false && fiber.getRef(Durability) === undefined
      const isNested = Context.getOption(fiber.context, transactionService)._tag === "Some"
      return isAsked && !isNested ? share(effect) : alone(effect)
    })
}
