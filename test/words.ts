/** The words of a text, told apart by spaces and line breaks. */
export const words = (text: string): Array<string> => text.trim().split(/\s+/)
