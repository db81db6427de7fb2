/**
 * A backup's file: an SQLite database of named parts, in compressed chunks. With a passphrase or an age recipient they
 * are also encrypted (AES-256-GCM): the key is derived by scrypt, or random and kept beside them as an age file. It is
 * renamed to its final name once complete and on disk.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from "node:crypto"
import { existsSync, renameSync, rmSync } from "node:fs"
import { open } from "node:fs/promises"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import { deflate, inflateSync } from "node:zlib"
import { Result, Schema } from "effect"
import { synced } from "../../files/open-store.ts"
import { StartupError } from "../../ports/startup-error.ts"

/** The description of a backup, readable without its keys. */
const About = Schema.Struct({
  /** Version of the file format: 2 where a reader of the first would misread it. */
  format: Schema.Literals([1, 2]),
  made_at: Schema.String,
  engine: Schema.Literals(["sqlite", "pg"]),
  /** Form of the data: a copy of the database (default), or the journal with a few rows outside it. */
  holds: Schema.optional(Schema.Literals(["database", "journal"])),
  /** A journal position that the backup contains at least; of other forms than a `pg_dump`, the last. */
  position: Schema.Int,
  files: Schema.Int
})
export type About = typeof About.Type
/** Reads a description; fails if it is not one. */
export const decodeAbout = Schema.decodeUnknownResult(Schema.fromJsonString(About))

/** Secrets that encrypt and decrypt backups. */
export interface BackupKeys {
  readonly passphrase?: string | undefined
  /** age recipient to encrypt to: `age1…`. It takes precedence over the passphrase. */
  readonly recipient?: string | undefined
  /** age identity to decrypt with: `AGE-SECRET-KEY-1…`. */
  readonly identity?: string | undefined
}

/** A part of the backup: of the database or journal, or a file by its SHA-256. */
export interface Part {
  readonly name: string
  readonly size_bytes: number
  readonly sha256: string
}

const chunk_bytes = 1_048_576
const nonce_bytes = 12
const tag_bytes = 16
const salt_bytes = 16

interface Sealing {
  readonly seal: (chunk: Uint8Array, place: string) => Promise<Uint8Array>
  readonly open: (chunk: Uint8Array, place: string) => Uint8Array
}
/** In a thread, as a server answers requests meanwhile. */
const compressed = promisify(deflate)
const plain: Sealing = { seal: (chunk) => compressed(chunk), open: (chunk) => inflateSync(chunk) }
const keyOf = (passphrase: string, salt: Uint8Array): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const cost = { N: 65_536, r: 8, p: 1, maxmem: 128 * 1_048_576 }
    scrypt(passphrase.normalize("NFKC"), salt, 32, cost, (error, key) =>
      error === null ? resolve(key) : reject(error)
    )
  })
/** Encrypts and decrypts chunks. `place` is authenticated, so that chunks cannot be exchanged. */
const sealedBy = (key: Uint8Array): Sealing => ({
  seal: async (chunk, place) => {
    const compressed_chunk = await compressed(chunk)
    const nonce = randomBytes(nonce_bytes)
    const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place))
    const content = Buffer.concat([cipher.update(compressed_chunk), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), content])
  },
  open: (chunk, place) => {
    const decipher = createDecipheriv("aes-256-gcm", key, chunk.subarray(0, nonce_bytes))
      .setAAD(Buffer.from(place))
      .setAuthTag(chunk.subarray(nonce_bytes, nonce_bytes + tag_bytes))
    return inflateSync(Buffer.concat([decipher.update(chunk.subarray(nonce_bytes + tag_bytes)), decipher.final()]))
  }
})

/** A new key for a backup, and what its file keeps to find it again. */
interface NewKey {
  readonly key: Uint8Array
  readonly salt: Uint8Array | null
  readonly sealed_key: Uint8Array | null
}
const newKey = async ({ passphrase, recipient }: BackupKeys): Promise<NewKey | undefined> => {
  if (recipient !== undefined) {
    const { Encrypter } = await import("age-encryption")
    const encrypter = new Encrypter()
    try {
      encrypter.addRecipient(recipient)
    } catch (cause) {
      throw new StartupError("The recipient is none of age, as it would begin with age1.", cause)
    }
    const key = randomBytes(32)
    return { key, salt: null, sealed_key: await encrypter.encrypt(key) }
  }
  if (passphrase === undefined) return undefined
  const salt = randomBytes(salt_bytes)
  return { key: await keyOf(passphrase, salt), salt, sealed_key: null }
}
const keyByIdentity = async (sealed_key: Uint8Array, identity: string | undefined): Promise<Uint8Array> => {
  if (identity === undefined)
    throw new StartupError("This backup is sealed: the identity of its age recipient is needed (--identity).")
  const { Decrypter } = await import("age-encryption")
  const decrypter = new Decrypter()
  try {
    decrypter.addIdentity(identity)
    return await decrypter.decrypt(sealed_key, "uint8array")
  } catch (cause) {
    throw new StartupError("This is not the identity of this backup's age recipient.", cause)
  }
}

export interface BackupWriter {
  readonly part: (name: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => Promise<void>
  /** Writes the description and renames the file to its final name. */
  readonly end: (about: Omit<About, "format">) => Promise<void>
  /** Deletes the unfinished file; does nothing after `end`. */
  readonly giveUp: () => void
}

/** Starts a backup. Throws a StartupError if the file exists or the recipient is invalid. */
export const writeBackup = async (file: string, keys: BackupKeys): Promise<BackupWriter> => {
  if (existsSync(file)) throw new StartupError(`${file} is there already.`)
  const sealed = await newKey(keys)
  const partial = `${file}.partial`
  rmSync(partial, { force: true })
  await (await open(partial, "wx", 0o600)).close()
  const db = new DatabaseSync(partial)
  db.exec(
    "pragma journal_mode = off; pragma synchronous = off; " +
      "create table about (json text not null, salt blob, proof blob, sealed_key blob); " +
      "create table parts (name text primary key, size_bytes integer not null, sha256 text not null); " +
      "create table chunks (part text, number integer, bytes blob not null, primary key (part, number)); begin"
  )
  const { seal } = sealed === undefined ? plain : sealedBy(sealed.key)
  const chunk = db.prepare("insert into chunks (part, number, bytes) values (?, ?, ?)")
  let is_open = true
  return {
    part: async (name, content) => {
      const hash = createHash("sha256")
      let number = 0
      let size_bytes = 0
      let waiting: Array<Uint8Array> = []
      let waiting_bytes = 0
      const flush = async (): Promise<void> => {
        if (waiting_bytes === 0) return
        chunk.run(name, number, await seal(Buffer.concat(waiting), placeOf(name, number)))
        number++
        waiting = []
        waiting_bytes = 0
      }
      for await (const bytes of content) {
        hash.update(bytes)
        size_bytes += bytes.length
        waiting.push(bytes)
        waiting_bytes += bytes.length
        if (waiting_bytes >= chunk_bytes) await flush()
      }
      await flush()
      db.prepare("insert into parts (name, size_bytes, sha256) values (?, ?, ?)").run(
        name,
        size_bytes,
        hash.digest("hex")
      )
    },
    end: async (about) => {
      const { key, salt = null, sealed_key = null } = sealed ?? {}
      const proof = key === undefined ? null : createHash("sha256").update(key).digest()
      const format = sealed_key !== null || about.holds === "journal" ? 2 : 1
      db.prepare("insert into about (json, salt, proof, sealed_key) values (?, ?, ?, ?)").run(
        JSON.stringify({ format, ...about } satisfies About),
        salt,
        proof,
        sealed_key
      )
      db.exec("commit")
      db.close()
      is_open = false
      await synced(partial)
      renameSync(partial, file)
      await synced(dirname(file))
    },
    giveUp: () => {
      if (!is_open) return
      db.close()
      rmSync(partial, { force: true })
    }
  }
}
const placeOf = (name: string, number: number): string => `${name}/${number}`

interface BackupReader {
  readonly about: About
  readonly is_sealed: boolean
  readonly parts: ReadonlyArray<Part>
  /**
   * Decrypts by these keys; rejects with a StartupError if they do not fit. The content of a part throws one at its end
   * if its hash differs.
   */
  readonly opened: (keys: BackupKeys) => Promise<(part: Part) => Generator<Uint8Array>>
  readonly close: () => void
}

/** Opens a backup. Throws a StartupError if the file is no backup or is damaged. */
export const readBackup = (file: string): BackupReader => {
  if (!existsSync(file)) throw new StartupError(`There is no file ${file}.`)
  const damaged = (cause?: unknown): StartupError =>
    new StartupError(`${file} is no backup of Flightcase, or is damaged.`, cause)
  const trying = <A>(work: () => A): A => {
    try {
      return work()
    } catch (cause) {
      throw cause instanceof StartupError ? cause : damaged(cause)
    }
  }
  const db = trying(() => new DatabaseSync(file, { readOnly: true }))
  try {
    return trying(() => readerOf(db, damaged))
  } catch (error) {
    db.close()
    throw error
  }
}
const readerOf = (db: DatabaseSync, damaged: (cause?: unknown) => StartupError): BackupReader => {
  // Files of the first releases have no sealed_key.
  const head = db.prepare("select * from about").get()
  const about = decodeAbout(head?.["json"])
  if (Result.isFailure(about)) throw damaged(about.failure)
  const [salt, proof, sealed_key] = [head?.["salt"], head?.["proof"], head?.["sealed_key"]]
  const keyBy = async ({ identity, passphrase }: BackupKeys): Promise<Uint8Array> => {
    if (sealed_key instanceof Uint8Array) return keyByIdentity(sealed_key, identity)
    if (passphrase === undefined)
      throw new StartupError("This backup is sealed: its passphrase is needed (--passphrase-file).")
    if (!(salt instanceof Uint8Array)) throw damaged()
    return keyOf(passphrase, salt)
  }
  const sealing = async (keys: BackupKeys): Promise<Sealing> => {
    if (!(proof instanceof Uint8Array)) return plain
    const key = await keyBy(keys)
    if (!createHash("sha256").update(key).digest().equals(proof))
      throw new StartupError("This is not the passphrase of this backup.")
    return sealedBy(key)
  }
  const parts = db
    .prepare("select name, size_bytes, sha256 from parts order by name")
    .all()
    .map((row) => ({ name: String(row["name"]), size_bytes: Number(row["size_bytes"]), sha256: String(row["sha256"]) }))
  return {
    about: about.success,
    is_sealed: proof instanceof Uint8Array,
    parts,
    opened: async (keys) => {
      const { open } = await sealing(keys)
      return function* (part) {
        const hash = createHash("sha256")
        let size_bytes = 0
        try {
          const rows = db.prepare("select number, bytes from chunks where part = ? order by number").iterate(part.name)
          for (const { bytes, number } of rows) {
            if (!(bytes instanceof Uint8Array)) throw damaged()
            const content = open(bytes, placeOf(part.name, Number(number)))
            hash.update(content)
            size_bytes += content.length
            yield content
          }
        } catch (cause) {
          throw cause instanceof StartupError ? cause : damaged(cause)
        }
        if (size_bytes !== part.size_bytes || hash.digest("hex") !== part.sha256) throw damaged()
      }
    },
    close: () => db.close()
  }
}
