// HPACK with the examples of RFC 7541, block by block, and what a decoder must reject.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HeaderListTooLarge, HpackDecoder } from '../../../src/wire/http2/hpack-decoder.js'
import { encodeHeaderBlock } from '../../../src/wire/http2/hpack-encoder.js'
import { runs } from '../../support/runs.js'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

const decoded = (decoder: HpackDecoder, block: Buffer): readonly string[] =>
  decoder.decode(block, 0, block.length).map(([name, value]) => `${name}: ${value}`)

const decoderOf = (tableSize = 4_096): HpackDecoder => new HpackDecoder(tableSize, 65_536)

const REQUESTS = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [
    ':method: GET',
    ':scheme: http',
    ':path: /',
    ':authority: www.example.com',
    'cache-control: no-cache',
  ],
  [
    ':method: GET',
    ':scheme: https',
    ':path: /index.html',
    ':authority: www.example.com',
    'custom-key: custom-value',
  ],
]
const RESPONSES = [
  [
    ':status: 302',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:21 GMT',
    'location: https://www.example.com',
  ],
  [
    ':status: 307',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:21 GMT',
    'location: https://www.example.com',
  ],
  [
    ':status: 200',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:22 GMT',
    'location: https://www.example.com',
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
]

describe('Appendix C of RFC 7541', () => {
  test.each([
    [
      'C.2.1',
      '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
      'custom-key: custom-header',
    ],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', ':path: /sample/path'],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', 'password: secret'],
    ['C.2.4', '82', ':method: GET'],
  ])('%s', (_section, block, field) => {
    expect(decoded(decoderOf(), hex(block))).toEqual([field])
  })

  test.each([
    [
      'C.3',
      4_096,
      REQUESTS,
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    ],
    [
      'C.4',
      4_096,
      REQUESTS,
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ],
    [
      'C.5',
      256,
      RESPONSES,
      [
        '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '4803 3330 37c1 c0bf',
        '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
      ],
    ],
    [
      'C.6',
      256,
      RESPONSES,
      [
        '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
        '4883 640e ffc1 c0bf',
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      ],
    ],
  ])('%s, one block after the other', (_section, tableSize, lists, blocks) => {
    const decoder = decoderOf(tableSize)
    expect(blocks.map((block) => decoded(decoder, hex(block)))).toEqual(lists)
  })
})

describe('a block that is refused', () => {
  test.each([
    ['an index of 0', '80'],
    ['an index beyond both tables', 'be'],
    ['an integer that ends early', '7f'],
    ['an integer that is too large', '7fff ffff ffff ff'],
    ['a string that ends early', '0003 61'],
    ['a Huffman code padded with zeros', '0081 00 00'],
    ['a Huffman code padded with eight ones', '0082 1fff 00'],
    ['EOS within a Huffman code', '0084 ffff ffff 00'],
    ['a table size above ours', '3fe2 1f'],
    ['a table size after a field', '8220'],
  ])('%s', (_what, block) => {
    expect(() => decoded(decoderOf(), hex(block))).toThrow(RangeError)
  })

  test('one whose list is too large, however small it is itself', () => {
    const decoder = decoderOf()
    const value = 'v'.repeat(4_000)
    decoded(decoder, Buffer.concat([hex('4001 61 7f a11e'), Buffer.from(value)]))
    expect(() => decoded(decoder, Buffer.alloc(100, 0xbe))).toThrow(HeaderListTooLarge)
  })
})

describe('what is remembered', () => {
  test('a block that changes no table gives the same list, until a table changes', () => {
    const decoder = decoderOf()
    const block = hex('8286 84')
    const first = decoder.decode(block, 0, block.length)
    expect(decoder.decode(block, 0, block.length)).toBe(first)
    decoded(decoder, hex('4001 6101 62'))
    const indexed = hex('be')
    expect(decoded(decoder, indexed)).toEqual(['a: b'])
    decoded(decoder, hex('4001 6301 64'))
    expect(decoded(decoder, indexed)).toEqual(['c: d'])
  })

  test('a field larger than the table empties it', () => {
    const decoder = decoderOf(64)
    decoded(decoder, hex('4001 6101 62'))
    decoded(decoder, Buffer.concat([hex('4001 6132'), Buffer.alloc(0x32, 0x62)]))
    expect(() => decoded(decoder, hex('be'))).toThrow(RangeError)
  })
})

test('what the encoder writes, the decoder reads', () => {
  const text = fc.string({
    unit: fc.integer({ min: 0, max: 255 }).map((c) => String.fromCharCode(c)),
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 8 }), (fields) => {
      const block = encodeHeaderBlock(fields)
      expect(decoderOf().decode(block, 0, block.length)).toEqual(fields)
    }),
  )
})

test('no bytes at all do anything but decode or be refused', () => {
  const decoder = decoderOf()
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        decoder.decode(Buffer.from(bytes), 0, bytes.length)
      } catch (error) {
        if (!(error instanceof RangeError || error instanceof HeaderListTooLarge)) throw error
      }
    }),
    { numRuns: runs(5_000) },
  )
})
