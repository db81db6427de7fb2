/**
 * Rows read out of a SQLite file page by page, without its trees (https://www.sqlite.org/fileformat2.html): where a page
 * that leads to others is damaged, those others can still be read. Committed pages of the write-ahead log take the place
 * of the file's.
 */

export type Cell = number | bigint | string | Uint8Array | null
interface RawRow {
  readonly rowid: number
  readonly cells: ReadonlyArray<Cell>
}

const page_size_default = 4_096
const table_leaf = 13
const file_header = 100,
  wal_header = 32,
  frame_header = 24
const columns_max = 64

/** Every row of every table that a leaf page still holds. */
export const rowsInPages = (file: Uint8Array, wal: Uint8Array | undefined): ReadonlyArray<RawRow> => {
  const db = view(file)
  const told = file.length >= file_header ? db.getUint16(16) : 0
  const size = told === 1 ? 65_536 : told >= 512 && (told & (told - 1)) === 0 ? told : page_size_default
  const reserved = file.length > 20 && file[20]! <= 64 ? file[20]! : 0
  const newer = wal === undefined ? new Map<number, Uint8Array>() : committedPages(wal, size)
  const count = Math.max(Math.ceil(file.length / size), ...newer.keys())
  const page = (no: number): Uint8Array | undefined => {
    const there = newer.get(no) ?? file.subarray((no - 1) * size, no * size)
    return no >= 1 && there.length === size ? there : undefined
  }
  const rows: Array<RawRow> = []
  for (let no = 1; no <= count; no++) {
    const leaf = page(no)
    if (leaf !== undefined)
      rows.push(...rowsOf(leaf, no === 1 ? file_header : 0, { page, usable: size - reserved, count }))
  }
  return rows
}
const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The newest committed version of each page; frames of an earlier use of the log have other salts. */
const committedPages = (wal: Uint8Array, size: number): Map<number, Uint8Array> => {
  const pages = new Map<number, Uint8Array>()
  if (wal.length < wal_header) return pages
  const log = view(wal)
  let begun: Array<readonly [number, Uint8Array]> = []
  for (let at = wal_header; at + frame_header + size <= wal.length; at += frame_header + size) {
    if (log.getUint32(at + 8) !== log.getUint32(16) || log.getUint32(at + 12) !== log.getUint32(20)) break
    begun.push([log.getUint32(at), wal.subarray(at + frame_header, at + frame_header + size)])
    if (log.getUint32(at + 4) === 0) continue
    for (const [no, bytes] of begun) pages.set(no, bytes)
    begun = []
  }
  return pages
}

interface Pages {
  readonly page: (no: number) => Uint8Array | undefined
  readonly usable: number
  readonly count: number
}

const rowsOf = (page: Uint8Array, start: number, pages: Pages): ReadonlyArray<RawRow> => {
  if (page[start] !== table_leaf) return []
  const bytes = view(page)
  const cells = Math.min(bytes.getUint16(start + 3), Math.floor((page.length - start - 8) / 2))
  const rows: Array<RawRow> = []
  for (let at = 0; at < cells; at++) {
    // One bad cell takes no other along.
    try {
      rows.push(rowAt(page, bytes.getUint16(start + 8 + at * 2), pages))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
  }
  return rows
}

/** 1 to 9 bytes, seven bits each, all eight of the ninth. */
const varint = (bytes: Uint8Array, at: number): readonly [value: number, next: number] => {
  let value = 0n
  for (let step = 0; step < 9; step++) {
    const byte = bytes[at + step]
    if (byte === undefined) throw new RangeError("cut off")
    if (step === 8) return [Number(BigInt.asIntN(64, (value << 8n) | BigInt(byte))), at + 9]
    value = (value << 7n) | BigInt(byte & 127)
    if (byte < 128) return [Number(value), at + step + 1]
  }
  throw new RangeError("cut off")
}

const rowAt = (page: Uint8Array, at: number, pages: Pages): RawRow => {
  const [length, after_length] = varint(page, at)
  const [rowid, begin] = varint(page, after_length)
  if (length < 1 || length > pages.count * pages.usable) throw new RangeError("no record")
  const room = pages.usable - 35
  const least = Math.floor(((pages.usable - 12) * 32) / 255) - 23
  const fitting = least + ((length - least) % (pages.usable - 4))
  const here = length <= room ? length : fitting <= room ? fitting : least
  const record = new Uint8Array(length)
  record.set(part(page, begin, here))
  let next = here === length ? 0 : view(page).getUint32(begin + here)
  for (let filled = here; filled < length;) {
    const overflow = pages.page(next)
    if (overflow === undefined) throw new RangeError("cut off")
    const taken = Math.min(length - filled, pages.usable - 4)
    record.set(part(overflow, 4, taken), filled)
    filled += taken
    next = view(overflow).getUint32(0)
  }
  return { rowid, cells: cellsOf(record) }
}
const part = (bytes: Uint8Array, from: number, length: number): Uint8Array => {
  if (from + length > bytes.length) throw new RangeError("cut off")
  return bytes.subarray(from, from + length)
}

const utf8 = new TextDecoder("utf-8")
const cellsOf = (record: Uint8Array): ReadonlyArray<Cell> => {
  const [header, first] = varint(record, 0)
  const cells: Array<Cell> = []
  for (let at = first, body = header; at < header;) {
    const [type, next] = varint(record, at)
    const length = type < 12 ? [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type] : Math.floor((type - 12) / 2)
    if (length === undefined || cells.length >= columns_max) throw new RangeError("no record")
    const bytes = part(record, body, length)
    cells.push(
      type === 0
        ? null
        : type < 7
          ? wholeIn(bytes)
          : type === 7
            ? view(bytes).getFloat64(0)
            : type < 10
              ? type - 8
              : type % 2 === 0
                ? bytes
                : utf8.decode(bytes)
    )
    at = next
    body += length
  }
  return cells
}
const wholeIn = (bytes: Uint8Array): number =>
  Number(
    BigInt.asIntN(
      bytes.length * 8,
      bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
    )
  )
