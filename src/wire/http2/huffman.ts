// Decodes the Huffman code of HPACK (RFC 7541, section 5.2 and Appendix B).

/** Code length of each symbol, 0 to 255 and EOS, in bits. The code is canonical, so the lengths define it. */
// prettier-ignore
const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
]

const EOS = 256

interface Leaf {
  readonly symbol: number
}

interface Branch {
  readonly children: [Node | undefined, Node | undefined]
  /** Index in the table; the root is 0. */
  readonly index: number
  /** Number of bits since the last symbol, if all of them were 1 and so may be padding at the end. */
  readonly padding: number | undefined
}

type Node = Leaf | Branch

const isLeaf = (node: Node): node is Leaf => 'symbol' in node

/** Returns all branches, the root first. */
function buildTree(): readonly Branch[] {
  const branches: Branch[] = [{ children: [undefined, undefined], index: 0, padding: 0 }]
  const grow = ({ children, padding }: Branch, bit: 0 | 1): Branch => {
    const known = children[bit]
    if (known !== undefined && !isLeaf(known)) return known
    const ones = bit === 1 && padding !== undefined ? padding + 1 : undefined
    const branch: Branch = {
      children: [undefined, undefined],
      index: branches.length,
      padding: ones,
    }
    branches.push(branch)
    children[bit] = branch
    return branch
  }
  const symbols = CODE_LENGTHS.map((length, symbol) => ({ length, symbol })).sort(
    (a, b) => a.length - b.length || a.symbol - b.symbol,
  )
  let code = 0
  let last = 0
  for (const { length, symbol } of symbols) {
    code *= 2 ** (length - last)
    last = length
    let branch = branches[0] as Branch
    for (let shift = length - 1; shift > 0; shift--) branch = grow(branch, bitOf(code, shift))
    branch.children[bitOf(code, 0)] = { symbol }
    code += 1
  }
  return branches
}

const bitOf = (code: number, shift: number): 0 | 1 => ((code >>> shift) & 1) as 0 | 1

// One step consumes four bits. No code is that short, so a step completes at most one symbol.
const FAILS = -1
const EMITS = 0x10000
const STEPS = ((): Int32Array => {
  const branches = buildTree()
  const steps = new Int32Array(branches.length * 16)
  for (const branch of branches)
    for (let nibble = 0; nibble < 16; nibble++)
      steps[branch.index * 16 + nibble] = step(branch, nibble, branches[0] as Branch)
  return steps
})()

const MAY_END: readonly boolean[] = buildTree().map(
  ({ padding }) => padding !== undefined && padding <= 7,
)

/** Returns the next branch (in the upper bits), whether a symbol was completed, and that symbol. */
function step(from: Branch, nibble: number, root: Branch): number {
  let branch = from
  let emitted = 0
  for (let shift = 3; shift >= 0; shift--) {
    const next = branch.children[bitOf(nibble, shift)]
    if (next === undefined) return FAILS
    if (!isLeaf(next)) {
      branch = next
      continue
    }
    // "A Huffman-encoded string literal containing the EOS symbol MUST be treated as a decoding error."
    if (next.symbol === EOS) return FAILS
    emitted = EMITS | next.symbol
    branch = root
  }
  return (branch.index << 17) | emitted
}

/** Most symbols per byte: the shortest code has five bits. */
const MAX_GROWTH = 8 / 5
let scratch = Buffer.allocUnsafeSlow(16_384)

/** Decodes bytes; each symbol becomes one character. @throws {RangeError} invalid code or padding. */
export function decodeHuffman(bytes: Buffer, from: number, to: number): string {
  const most = Math.ceil((to - from) * MAX_GROWTH)
  if (most > scratch.length) scratch = Buffer.allocUnsafeSlow(most)
  let branch = 0
  let length = 0
  for (let at = from * 2; at < to * 2; at++) {
    const byte = bytes[at >> 1] as number
    const nibble = (at & 1) === 0 ? byte >> 4 : byte & 0xf
    const found = STEPS[branch * 16 + nibble] as number
    if (found === FAILS) throw new RangeError('no Huffman code')
    if ((found & EMITS) !== 0) scratch[length++] = found & 0xff
    branch = found >> 17
  }
  if (MAY_END[branch] !== true) throw new RangeError('wrong padding of a Huffman code')
  return scratch.toString('latin1', 0, length)
}
