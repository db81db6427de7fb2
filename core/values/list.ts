/** Items of lists that are there by construction: their absence is an error of the program, not of its input. */

/** The item at an index; negative ones count from the end. Throws where there is none. */
export const itemAt = <T>(list: ReadonlyArray<T>, index: number): T => {
  const item = list.at(index)
  if (item === undefined) throw new RangeError(`no item ${index} in a list of ${list.length}`)
  return item
}
