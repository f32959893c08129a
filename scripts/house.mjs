// npm run house: prints the figures that say how far the source is from its floor plan: files, folders, imports, and how
// many files the walks of docs/architecture.md name.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { DOORS } from '../test/support/import-table.ts'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

const SRC = join(root, 'src')
/** Most lines of a file that may be too small to stand alone. */
const SMALL = 40
/** Most files in a folder. */
const MOST_FILES = 25

await runScript(() => {
  const files = sourceFiles()
  const importers = importersOf(files)
  const folders = Map.groupBy(files, ({ path }) => dirname(path))
  const longest = files.toSorted((a, b) => b.lines - a.lines)[0]
  const fullest = [...folders].toSorted(([, a], [, b]) => b.length - a.length)[0]
  const full = [...folders].filter(([, inside]) => inside.length > MOST_FILES)
  const satellites = files.filter(({ path }) => isSatellite(path, importers.get(path)))
  const rows = [
    ['files', files.length],
    ['lines', files.reduce((sum, { lines }) => sum + lines, 0)],
    ['doors', DOORS.length],
    ['names at the top of src', new Set(files.map(({ path }) => path.split('/')[0])).size],
    ['imports upward, from a door to a later one', upward(importers)],
    [`files of at most ${SMALL} lines`, files.filter(({ lines }) => lines <= SMALL).length],
    ['longest file', `${longest.path}, ${longest.lines} lines`],
    ['longest folder', `${fullest[0]}, ${fullest[1].length} files`],
    [`folders of more than ${MOST_FILES} files`, full.length],
    ['files with one importer, in their own folder', satellites.length],
    ...walks(),
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, value] of rows) process.stdout.write(`${name.padEnd(width)}  ${value}\n`)
  return 0
})

function sourceFiles() {
  return readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/generated/'))
    .map((path) => {
      const text = readFileSync(path, 'utf8')
      return { path: relative(SRC, path), text, lines: text.split('\n').length - 1 }
    })
}

/** Files by the file that they import. */
function importersOf(files) {
  const importers = new Map()
  for (const { path, text } of files)
    for (const [, from] of text.matchAll(/\bfrom '(\.[^']+)\.js'/g)) {
      const target = `${relative(SRC, resolve(SRC, dirname(path), from))}.ts`
      importers.set(target, new Set([...(importers.get(target) ?? []), path]))
    }
  return importers
}

/** How many files import one behind a door that stands after their own. */
function upward(importers) {
  const floorOf = (path) => DOORS.indexOf(path.split('/')[0])
  const pairs = [...importers].flatMap(([target, from]) => [...from].map((path) => [path, target]))
  return pairs.filter(([path, target]) => floorOf(path) >= 0 && floorOf(target) > floorOf(path))
    .length
}

function isSatellite(path, importers = new Set()) {
  const [only] = importers
  return importers.size === 1 && dirname(only) === dirname(path)
}

/** How many files of src each walk of docs/architecture.md names. */
function walks() {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const paragraphs = page.split('\n\n')
  const begins = paragraphs.flatMap((text, at) =>
    /^\*\*(An?|One) [^*]+\*\*/.test(text) ? [at] : [],
  )
  return begins.map((at) => {
    const text = paragraphs[at]
    const names = [...text.matchAll(/`(?:src\/)?([\w/-]+\.ts)`/g)].map(([, name]) => name)
    // A file of which the text has the path may be called by its name alone.
    const isSaid = (name) => names.some((path) => path.endsWith(`/${name}`))
    const named = new Set(names.filter((name) => !isSaid(name)))
    return [`walk: ${/^\*\*([^*]+)\*\*/.exec(text)[1]}`, `${named.size} files named`]
  })
}
