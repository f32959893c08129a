// docs/troubleshooting.md has a row for every denial reason and every error code of the guard.

import { globSync, readFileSync } from 'node:fs'
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

test.each(['token/verify.ts', 'rules/judge.ts', 'token/claims.ts', 'decision.ts', 'path-check.ts'])(
  'has every reason of %s',
  (file) => {
    const reasons = words(file).filter((word) => !ALLOWING.includes(word))
    expect(reasons.length).toBeGreaterThan(0)
    expect(reasons.filter((reason) => !page.includes(`| \`${reason}\``))).toEqual([])
  },
)

test('has every error code of the guard', () => {
  const files = globSync('src/extproc/**/*.ts', { cwd: ROOT })
  const codes = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return [...text.matchAll(/'(guardrail_[a-z_]+|content_filter)'/g)].map(([, code = '']) => code)
  })
  expect(new Set(codes).size).toBeGreaterThan(4)
  const isListed = (code: string): boolean =>
    new RegExp(`^\\| (?:\\d+ )?\`${code}\``, 'm').test(page)
  expect([...new Set(codes)].filter((code) => !isListed(code))).toEqual([])
})

test('names the error of a list that cannot be read as it is sent', () => {
  const source = readFileSync(join(ROOT, 'src/extproc/lists/list-reply.ts'), 'utf8')
  for (const name of ['UNREADABLE', 'DETAILS']) {
    const text = new RegExp(`const ${name} = '(.*)'`).exec(source)?.[1] ?? `no ${name}`
    expect(page).toContain(`\`${text}\``)
  }
})
