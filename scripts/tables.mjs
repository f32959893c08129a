// Tables of pages of docs that scripts write, each between two comments with its name.

import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Writes a table into a page, formatted as Prettier does.
 * @param heads the first row. All columns but the first are numbers, aligned to the right.
 */
export function writeTable(page, name, heads, rows) {
  const widths = heads.map((head, index) =>
    Math.max(...[head, ...rows.map((row) => row[index])].map((cell) => cell.length), 4),
  )
  const line = (cells) => `| ${cells.join(' | ')} |`
  const padded = (row) =>
    line(row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))))
  const rule = line(
    widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)),
  )
  const table = [padded(heads), rule, ...rows.map(padded)].join('\n')
  const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
  const text = readFileSync(page, 'utf8')
  const [before, after] = [text.split(start)[0], text.split(end)[1]]
  writeFileSync(page, `${before}${start}\n\n${table}\n\n${end}${after}`)
}
