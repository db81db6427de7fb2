/** Items of lists that the caller knows to be there. A missing one is a defect of the program: a RangeError. */

/** The item at an index; negative ones count from the end. */
export const itemAt = <A>(list: ReadonlyArray<A>, index: number): A => {
  const item = index < 0 ? list[list.length + index] : list[index]
  if (item === undefined) throw new RangeError(`There is no item ${index} in a list of ${list.length}.`)
  return item
}
export const firstOf = <A>(list: ReadonlyArray<A>): A => itemAt(list, 0)
export const lastOf = <A>(list: ReadonlyArray<A>): A => itemAt(list, -1)
