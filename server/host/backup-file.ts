/**
 * A backup's file: an SQLite database of named parts, in compressed chunks, with a passphrase also encrypted
 * (AES-256-GCM, key by scrypt). It is renamed to its final name once complete and on disk.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from "node:crypto"
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { deflateSync, inflateSync } from "node:zlib"
import { Result, Schema } from "effect"
import { StartupError } from "../ports/startup-error.ts"

/** The description of a backup, readable without its passphrase. */
const About = Schema.Struct({
  /** Version of the file format. */
  format: Schema.Literal(1),
  made_at: Schema.String,
  engine: Schema.Literals(["sqlite", "pg"]),
  /** Last journal position in the backup. */
  position: Schema.Int,
  files: Schema.Int
})
export type About = typeof About.Type
const decodeAbout = Schema.decodeUnknownResult(Schema.fromJsonString(About))

/** A part of the backup: the database, or a file by its SHA-256. */
interface Part {
  readonly name: string
  readonly size_bytes: number
  readonly sha256: string
}

const chunk_bytes = 1_048_576
const nonce_bytes = 12
const tag_bytes = 16
const salt_bytes = 16

interface Sealing {
  readonly seal: (chunk: Uint8Array, place: string) => Uint8Array
  readonly open: (chunk: Uint8Array, place: string) => Uint8Array
}
const plain: Sealing = { seal: (chunk) => deflateSync(chunk), open: (chunk) => inflateSync(chunk) }
const keyOf = (passphrase: string, salt: Uint8Array): Uint8Array =>
  scryptSync(passphrase.normalize("NFKC"), salt, 32, { N: 65_536, r: 8, p: 1, maxmem: 128 * 1_048_576 })
/** Encrypts and decrypts chunks. `place` is authenticated, so that chunks cannot be exchanged. */
const sealedBy = (key: Uint8Array): Sealing => ({
  seal: (chunk, place) => {
    const nonce = randomBytes(nonce_bytes)
    const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place))
    const content = Buffer.concat([cipher.update(deflateSync(chunk)), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), content])
  },
  open: (chunk, place) => {
    const decipher = createDecipheriv("aes-256-gcm", key, chunk.subarray(0, nonce_bytes))
      .setAAD(Buffer.from(place))
      .setAuthTag(chunk.subarray(nonce_bytes, nonce_bytes + tag_bytes))
    return inflateSync(Buffer.concat([decipher.update(chunk.subarray(nonce_bytes + tag_bytes)), decipher.final()]))
  }
})

interface BackupWriter {
  readonly part: (name: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => Promise<void>
  /** Writes the description and renames the file to its final name. */
  readonly end: (about: About) => void
  /** Deletes the unfinished file; does nothing after `end`. */
  readonly giveUp: () => void
}

/** Starts a backup. Throws a StartupError if the file exists. */
export const writeBackup = (file: string, passphrase: string | undefined): BackupWriter => {
  if (existsSync(file)) throw new StartupError(`${file} is there already.`)
  const partial = `${file}.partial`
  rmSync(partial, { force: true })
  closeSync(openSync(partial, "wx", 0o600))
  const db = new DatabaseSync(partial)
  db.exec(
    "pragma journal_mode = off; pragma synchronous = off; " +
      "create table about (json text not null, salt blob, proof blob); " +
      "create table parts (name text primary key, size_bytes integer not null, sha256 text not null); " +
      "create table chunks (part text, number integer, bytes blob not null, primary key (part, number)); begin"
  )
  const salt = passphrase === undefined ? undefined : randomBytes(salt_bytes)
  const key = passphrase === undefined || salt === undefined ? undefined : keyOf(passphrase, salt)
  const { seal } = key === undefined ? plain : sealedBy(key)
  const chunk = db.prepare("insert into chunks (part, number, bytes) values (?, ?, ?)")
  let is_open = true
  return {
    part: async (name, content) => {
      const hash = createHash("sha256")
      let number = 0
      let size_bytes = 0
      let waiting: Array<Uint8Array> = []
      let waiting_bytes = 0
      const flush = (): void => {
        if (waiting_bytes === 0) return
        chunk.run(name, number, seal(Buffer.concat(waiting), placeOf(name, number)))
        number++
        waiting = []
        waiting_bytes = 0
      }
      for await (const bytes of content) {
        hash.update(bytes)
        size_bytes += bytes.length
        waiting.push(bytes)
        waiting_bytes += bytes.length
        if (waiting_bytes >= chunk_bytes) flush()
      }
      flush()
      db.prepare("insert into parts (name, size_bytes, sha256) values (?, ?, ?)").run(
        name,
        size_bytes,
        hash.digest("hex")
      )
    },
    end: (about) => {
      const proof = key === undefined ? null : createHash("sha256").update(key).digest()
      db.prepare("insert into about (json, salt, proof) values (?, ?, ?)").run(
        JSON.stringify(about),
        salt ?? null,
        proof
      )
      db.exec("commit")
      db.close()
      is_open = false
      flushed(partial)
      renameSync(partial, file)
      flushed(dirname(file))
    },
    giveUp: () => {
      if (!is_open) return
      db.close()
      rmSync(partial, { force: true })
    }
  }
}
const placeOf = (name: string, number: number): string => `${name}/${number}`
const flushed = (path: string): void => {
  const handle = openSync(path, "r")
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

interface BackupReader {
  readonly about: About
  readonly is_sealed: boolean
  readonly parts: ReadonlyArray<Part>
  /** Content of a part. Throws a StartupError at its end if its hash differs. */
  readonly content: (part: Part, passphrase: string | undefined) => Generator<Uint8Array>
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
  const head = db.prepare("select json, salt, proof from about").get()
  const about = decodeAbout(head?.["json"])
  if (Result.isFailure(about)) throw damaged(about.failure)
  const [salt, proof] = [head?.["salt"], head?.["proof"]]
  let opened: Sealing | undefined
  const sealing = (passphrase: string | undefined): Sealing => {
    if (!(salt instanceof Uint8Array && proof instanceof Uint8Array)) return plain
    if (passphrase === undefined)
      throw new StartupError("This backup is sealed: its passphrase is needed (--passphrase-file).")
    if (opened !== undefined) return opened
    const key = keyOf(passphrase, salt)
    if (!createHash("sha256").update(key).digest().equals(proof))
      throw new StartupError("This is not the passphrase of this backup.")
    return (opened = sealedBy(key))
  }
  const parts = db
    .prepare("select name, size_bytes, sha256 from parts order by name")
    .all()
    .map((row) => ({ name: String(row["name"]), size_bytes: Number(row["size_bytes"]), sha256: String(row["sha256"]) }))
  return {
    about: about.success,
    is_sealed: salt instanceof Uint8Array,
    parts,
    content: function* (part, passphrase) {
      const { open } = sealing(passphrase)
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
    },
    close: () => db.close()
  }
}
