// Finds helm: on PATH, or built once from its Go module and kept in the user's cache.

import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, cacheFolder, onPath } from './install.mjs'
import { SetupError } from './setup-error.mjs'

const HELM = 'v3.22.0'

/**
 * Returns the path of helm.
 * @param say reports progress to the user.
 */
export function findHelm(say) {
  const found = onPath('helm')
  if (found !== undefined) return found
  const folder = join(cacheFolder(), `helm-${HELM}`)
  const program = join(folder, 'helm')
  if (existsSync(program)) return program
  if (onPath('go') === undefined)
    throw new SetupError(
      'helm is missing, and go, which builds it: install one of them (https://helm.sh, https://go.dev)',
    )
  say(`building helm ${HELM} into ${folder} (once, about three minutes)`)
  mkdirSync(folder, { recursive: true })
  attempt('go', ['install', `helm.sh/helm/v3/cmd/helm@${HELM}`], {
    env: { ...process.env, GOBIN: folder },
    trouble: 'helm could not be built: see the message of go above; is its module proxy reachable?',
  })
  return program
}
