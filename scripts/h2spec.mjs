// Finds h2spec, which tests servers for conformance to RFC 9113 and RFC 7541. Builds it once from its Go module and
// keeps it in the user's cache.

import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, cacheFolder, onPath } from './install.mjs'
import { SetupError } from './setup-error.mjs'

/** The last version available as a Go module. It predates modules, hence the suffix. */
const H2SPEC = 'v2.2.1+incompatible'

/**
 * Returns the path of h2spec.
 * @param say reports progress to the user.
 */
export function findH2spec(say) {
  const folder = join(cacheFolder(), 'h2spec-v2.2.1')
  const program = join(folder, 'h2spec')
  if (existsSync(program)) return program
  if (onPath('go') === undefined)
    throw new SetupError('go is missing, which builds h2spec: install it (https://go.dev)')
  say(`building h2spec ${H2SPEC} into ${folder} (once, about a minute)`)
  mkdirSync(folder, { recursive: true })
  attempt('go', ['install', `github.com/summerwind/h2spec/cmd/h2spec@${H2SPEC}`], {
    env: { ...process.env, GOBIN: folder },
    trouble:
      'h2spec could not be built: see the message of go above; is its module proxy reachable?',
  })
  return program
}
