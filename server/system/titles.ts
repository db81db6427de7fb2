/** Names of the code as words for people. */
export const words = (name: string): string => name.replaceAll("_", " ")
/** The same with a capital letter: `tax_classes` is "Tax classes". */
export const title = (name: string): string => words(name).replace(/^./, (letter) => letter.toUpperCase())
