// Reads the source files for tests of their structure. Reads import lines and runs no code.

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

/** The folder src. */
export const SRC = resolve(import.meta.dirname, '../../src')

/** A file of src with its imports. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly { readonly from: string }[]
}

/** An import or export line; its third group is the module. */
export const importLine = /^(import|export)\s(type\s)?(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm

/** All files of src, except generated ones; paths are relative to src. */
export const sourceFiles: readonly SourceFile[] = readdirSync(SRC, {
  recursive: true,
  withFileTypes: true,
})
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((path) => !path.includes('/generated/'))
  .map((path) => {
    const text = readFileSync(path, 'utf8')
    const imports = [...text.matchAll(importLine)].map((match) => ({
      from: match[3] ?? '',
    }))
    return { path: relative(SRC, path), text, imports }
  })
