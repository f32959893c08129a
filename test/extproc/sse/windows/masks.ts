// Building blocks for property tests of streams: texts, masks, and a webhook that applies a mask.

import * as fc from 'fast-check'

export interface Masked {
  readonly text: string
  /** Literal → what is written instead. */
  readonly mask: ReadonlyMap<string, string>
}

/** The first literal that fits, from the left: what a webhook does with the texts that it is shown. */
export function applyMask(text: string, mask: ReadonlyMap<string, string>): string {
  const literals = [...mask.keys()].map((literal) => literal.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return literals.length === 0
    ? text
    : text.replace(new RegExp(literals.join('|'), 'g'), (found) => mask.get(found) ?? '')
}

const word = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('the', 'guard', 'of', 'a', 'gate', 'asks', 'ha', 'names'),
  },
  { weight: 3, arbitrary: fc.string({ minLength: 1, maxLength: 12 }) },
  { weight: 2, arbitrary: fc.constantFrom('门卫', '检查每一个', '👩‍🚀', '🙂', 'é', '\u0301') },
)
const separator = fc.oneof(
  { weight: 10, arbitrary: fc.constant(' ') },
  { weight: 2, arbitrary: fc.constantFrom('\n', ', ', '-', '') },
)
/** The separators of a text without white space. */
const none = fc.constant('')

export const anyText = (maxWords: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.boolean(), fc.nat({ max: maxWords }))
    .chain(([isSpaced, count]) =>
      fc.array(fc.tuple(word, isSpaced ? separator : none), { minLength: count, maxLength: count }),
    )
    .map((words) => words.flat().join(''))

const replacement = fc.oneof(
  fc.constantFrom('', '*', '****', '[masked]'),
  fc.string({ maxLength: 300 }),
)

/** A text and literals of it, each up to so many characters long and never half a character. */
export const anyMasked = (maxWords: number, longest = 256): fc.Arbitrary<Masked> =>
  anyText(maxWords).chain((text) =>
    fc
      .array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: longest }), replacement), {
        maxLength: 5,
      })
      .map((picks) => ({ text, mask: maskOf(text, picks) })),
  )

function maskOf(
  text: string,
  picks: readonly (readonly [at: number, length: number, replacement: string])[],
): ReadonlyMap<string, string> {
  const mask = new Map<string, string>()
  for (const [at, length, instead] of picks) {
    const start = at % (text.length || 1)
    const literal = text.slice(start, start + length)
    if (literal !== '' && !/[\ud800-\udfff]/u.test(literal)) mask.set(literal, instead)
  }
  return mask
}

/** Every few words one that is masked: nowhere is there room for a match of 256 characters between two of them. */
export const denselyMasked: fc.Arbitrary<Masked> = fc
  .array(fc.tuple(fc.constantFrom('Ann Lee', 'Bob', '李雷'), fc.integer({ min: 12, max: 30 })), {
    minLength: 60,
    maxLength: 120,
  })
  .map((names) => ({
    text: names
      .map(([name, count], at) => `${name} ${'and then '.repeat(count).slice(0, count * 3)}${at}, `)
      .join(''),
    mask: new Map([
      ['Ann Lee', '<NAME>'],
      ['Bob', ''],
      ['李雷', '[the name of a person]'],
    ]),
  }))

export interface WhollyMasked {
  readonly text: string
  readonly webhook: (window: string) => string
}

/** Item after item, each masked by a pattern, with a blank or a comma between them. */
export const whollyMasked: fc.Arbitrary<WhollyMasked> = fc
  .tuple(
    fc.constantFrom(
      (at: number) => `user${at}@example.com`,
      (at: number) => `maria.mail${at * 7919}@mail.example`,
      () => 'secret',
      (at: number) => ['Ann Lee', 'Bob Ray', 'Eve'][at % 3] ?? '',
      (at: number) => `4111 1111 1111 ${String(1000 + (at % 9000))}`,
    ),
    fc.constantFrom(' ', ', ', '\n', ' | '),
    fc.constantFrom('****', '[email]', '[the name of a person]', 'X', 'a, b'),
    fc.integer({ min: 100, max: 900 }),
  )
  .map(([item, separator, instead, count]) => ({
    text: Array.from({ length: count }, (_, at) => item(at)).join(separator),
    webhook: (window) =>
      window.replace(
        /[\w.]+@[\w.]*\w|secret|Ann Lee|Bob Ray|Eve|\d{4} \d{4} \d{4} \d{4}/g,
        instead,
      ),
  }))
