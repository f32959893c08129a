// The table of docs/settings.md matches the program's settings. `npm test -- --goldens` rewrites it.

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { format } from 'prettier'
import { expect, test } from 'vitest'
import { flagName, FLAGS } from '../src/ops/settings/flags.js'

const PAGE = resolve(import.meta.dirname, '../docs/settings.md')
const SECTION = /<!-- settings -->[\s\S]*<!-- \/settings -->/

const cell = (text: string): string => text.replace(/\|/g, '\\|')

/** Rows of the shape that all flags share. */
const flags: readonly (readonly [
  string,
  { readonly value?: string; readonly default: string | undefined; readonly meaning: string },
])[] = Object.entries(FLAGS)

function settingsTable(): string {
  const rows = flags.map(([key, flag]) => {
    const value = flag.value === undefined ? '' : ` ${flag.value}`
    const preset = flag.default === undefined ? '' : `\`${flag.default}\``
    return `| \`--${flagName(key)}${cell(value)}\` | ${preset} | ${cell(flag.meaning)} |`
  })
  return ['| flag | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

test('the table of settings is fresh', async () => {
  const page = readFileSync(PAGE, 'utf8')
  const section = `<!-- settings -->\n\n${settingsTable()}\n\n<!-- /settings -->`
  const fresh = await format(
    page.replace(SECTION, () => section),
    {
      parser: 'markdown',
      semi: false,
      singleQuote: true,
      printWidth: 100,
    },
  )
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PAGE, fresh)
  else expect(page).toBe(fresh)
})
