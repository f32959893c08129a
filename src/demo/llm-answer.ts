// What the demo's model says to a prompt, and the pieces that it says it in.

/** An address that a model could have learned; the sample webhook masks it. */
const ADDRESS = 'carol.jones@staff.example.com'

/** Characters of a piece: words are cut, and the address above wherever it stands. */
const PIECE = 7

/** Shows what reached the model, and holds an address. */
export const shortAnswer = (prompt: string): string =>
  `You wrote: "${prompt}" Ask ${ADDRESS} about it.`

/** The same, and long enough to be watched as it comes. */
export const longAnswer = (prompt: string): string =>
  `You wrote: "${prompt}" That is all that I was given: the gateway shows every prompt to a guardrail webhook \
and sends me what the webhook makes of it. My answer goes back by the same way. I say it a few letters at a time, so \
the address ${ADDRESS} comes in five pieces; the gateway keeps the end of what I have said until the webhook has seen \
how it goes on, and finds the address all the same. You need not wait until I am done: what the webhook has seen is \
yours while I am still speaking. Whoever wants to know more writes to ${ADDRESS}.`

export function piecesOf(text: string): readonly string[] {
  const letters = [...text]
  return Array.from({ length: Math.ceil(letters.length / PIECE) }, (_, index) =>
    letters.slice(index * PIECE, (index + 1) * PIECE).join(''),
  )
}
