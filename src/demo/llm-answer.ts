// Answers of the demo's model to a prompt, and the pieces in which they are streamed.

/** Address that a model could have learned; the sample webhook masks it. */
const ADDRESS = 'carol.jones@staff.example.com'

/** Length of a piece in characters: cuts words, and always the address above. */
const PIECE = 7

/** Returns an answer that quotes the prompt as it reached the model and contains an address. */
export const shortAnswer = (prompt: string): string =>
  `You wrote: "${prompt}" Ask ${ADDRESS} about it.`

/**
 * Returns the same kind of answer, long enough to watch it arrive: up to 256 characters on either side of a change are
 * held back (decision 20a). So the address is farther than that from the start, and than twice that from the end.
 */
export const longAnswer = (prompt: string): string =>
  `You wrote: "${prompt}" That is all that I was given: the gateway shows every prompt to a guardrail webhook \
and sends me what the webhook makes of it. My answer goes back by the same way, and you need not wait until \
I am done: what the webhook has seen is yours while I am still speaking, but for the last 256 characters. \
The gateway keeps these until the webhook has seen how I go on. A secret may begin in them, and I say \
everything a few letters at a time. The address ${ADDRESS}, for one, comes in five pieces, none of which \
looks like an address. The webhook still finds it, because whatever is held back is shown to it once more, \
with what follows. You read these sentences in one go: the 256 characters before a change and the 256 behind \
it wait together, since what was found might have been part of something longer. From here on it is as it \
was in the beginning. I speak, the webhook reads along, and you get every sentence soon after I have said \
it. Were there a word that the webhook blocks, my answer would end right there with an error, and nobody \
would have read that word. Were the webhook gone, the answer would end in the same way, unless the policy \
says otherwise. I have no more to say, so the last of it comes now.`

/** Returns the pieces of a streamed answer. */
export function answerPieces(text: string): readonly string[] {
  const letters = [...text]
  return Array.from({ length: Math.ceil(letters.length / PIECE) }, (_, index) =>
    letters.slice(index * PIECE, (index + 1) * PIECE).join(''),
  )
}
