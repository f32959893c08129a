// docs/performance.md: what a benchmark writes into it, and where.

import { expect, test } from 'vitest'
import { withSections } from '../bench/sections.js'

const PAGE = '# Title\n\nAll of it.\n\n## One\n\n1\n\n## Two\n\n2\n'

test('a section with a known heading stays in its place, and the next new one follows it', () => {
  expect(withSections(PAGE, '## One\n\n1b\n\n## Other\n\n3')).toBe(
    '# Title\n\nAll of it.\n\n## One\n\n1b\n\n## Other\n\n3\n\n## Two\n\n2\n',
  )
})

test('a section that the page lacks is its last, not above its title', () => {
  expect(withSections(PAGE, '## Other\n\n3\n')).toBe(`${PAGE}\n## Other\n\n3\n`)
})
