// Builds a program from a Go module of this repository, once per version of its sources, and keeps it in the user's
// cache.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, cacheFolder, onPath } from './install.mjs'
import { SetupError } from './setup-error.mjs'

export const hasGo = () => onPath('go') !== undefined

/**
 * Returns the path of the program, built if it is missing.
 * @param name name of the program.
 * @param module folder of the module, whose go.mod and go.sum pin its dependencies.
 * @param part the package within the module, or one that the module requires.
 * @param command the subcommand of go that builds it; a package of tests needs ['test', '-c'].
 * @param ldflags flags of the linker.
 * @param takes how long the build takes, in words.
 * @param say reports progress to the user.
 */
export function goProgram({
  name,
  module,
  part = '.',
  command = ['build'],
  ldflags = '-s -w',
  takes = 'about a minute',
  say,
}) {
  const program = join(cacheFolder(), `${name}-${hashOf(module)}`, name)
  if (existsSync(program)) return program
  if (!hasGo())
    throw new SetupError(`go is missing, which builds ${name}: install it (https://go.dev)`)
  say(`building ${name} into ${program} (once, ${takes})`)
  mkdirSync(join(program, '..'), { recursive: true })
  const flags = [
    '-mod=readonly',
    '-trimpath',
    '-buildvcs=false',
    '-ldflags',
    ldflags,
    '-o',
    program,
  ]
  attempt('go', [...command, ...flags, part], {
    cwd: module,
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
    trouble: `${name} could not be built: see the message of go above; is its module proxy reachable?`,
  })
  return program
}

/** Hash of all files below the folder. */
function hashOf(folder) {
  const hash = createHash('sha256')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  for (const file of files.sort()) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 12)
}
