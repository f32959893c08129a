// docs/troubleshooting.md has a row for every denial reason.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const page = readFileSync(join(ROOT, 'docs/troubleshooting.md'), 'utf8')
const ALLOWING = ['allowed', 'anonymous']

/** The words of the unions whose names end in Fault, and of Reason itself. */
function words(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, 'src/extauthz', file), 'utf8')
  const unions = [...text.matchAll(/^export type (?:\w*Fault|Reason) =([\s\S]*?)\n\n/gm)]
  return unions.flatMap(([, union = '']) =>
    [...union.matchAll(/'([a-z-]+)'/g)].map(([, w]) => w ?? ''),
  )
}

test.each(['authenticate.ts', '../rules/judge.ts', 'claims.ts', 'decision.ts', 'path-check.ts'])(
  'has every reason of %s',
  (file) => {
    const reasons = words(file).filter((word) => !ALLOWING.includes(word))
    expect(reasons.length).toBeGreaterThan(0)
    expect(reasons.filter((reason) => !page.includes(`| \`${reason}\``))).toEqual([])
  },
)
