// Checks of flags of `gatehouse explain` that involve several of them.

import type { FlagValues } from './flags.js'

type ExplainValues = Pick<FlagValues, 'request' | 'resources' | 'jwks' | 'fetch' | 'token' | 'body'>

/** Returns a sentence for each mistake. givesAdmin: whether --admin is given. */
export function explainChecks(values: ExplainValues, givesAdmin: boolean): readonly string[] {
  const { request, resources, jwks, fetch, token, body } = values
  const isOffline = resources.length > 0
  const wrong: readonly (readonly [boolean, string])[] = [
    [request === undefined, REQUEST_MISSING],
    [isOffline && givesAdmin, '--resources and --admin exclude each other'],
    [!isOffline && jwks.length > 0, '--jwks belongs to --resources: a running Gatehouse has keys'],
    [!isOffline && fetch, '--fetch belongs to --resources: a running Gatehouse has keys'],
    [fetch && jwks.length > 0, '--jwks and --fetch exclude each other'],
    [token === '-' && body === '-', '--token and --body cannot both be standard input'],
  ]
  return wrong.flatMap(([isWrong, sentence]) => (isWrong ? [sentence] : []))
}

const REQUEST_MISSING =
  '--request is missing; usage: gatehouse explain --resources PATH --request "POST https://HOST/PATH"'
