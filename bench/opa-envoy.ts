// Starts OPA-Envoy with the rule of the benchmark in Rego, and the keys beside it. Its decision logs are off, as they are
// by default.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { goPrograms } from './go-programs.js'
import { freePort, type Party, run, until } from './processes.js'

export interface OpaRule {
  readonly jwks: object
  readonly issuer: string
  readonly audience: string
}

const POLICY = `package bench

default allow := false

token := substring(input.attributes.request.http.headers.authorization, count("Bearer "), -1)

allow if {
	[valid, _, claims] := io.jwt.decode_verify(token, {
		"cert": data.rule.jwks, "iss": data.rule.issuer, "aud": data.rule.audience,
	})
	valid
	"mcp-users" in claims.groups
}
`

/**
 * Resolves when it serves ext_authz on the socket; undefined without Go.
 * @param folder where its policy is written.
 */
export async function startOpaEnvoy(
  folder: string,
  socket: string,
  { jwks, issuer, audience }: OpaRule,
): Promise<Party | undefined> {
  if (goPrograms.opaEnvoy === undefined) return undefined
  const [policy, data] = [join(folder, 'bench.rego'), join(folder, 'data.json')]
  await writeFile(policy, POLICY)
  const rule = { jwks: JSON.stringify(jwks), issuer, audience }
  await writeFile(data, JSON.stringify({ rule }))
  const api = `127.0.0.1:${String(await freePort())}`
  const party = run(goPrograms.opaEnvoy, [
    'run',
    '--server',
    '--skip-version-check',
    '--addr',
    api,
    '--log-level',
    'error',
    '--set',
    `plugins.envoy_ext_authz_grpc.addr=unix://${socket}`,
    '--set',
    'plugins.envoy_ext_authz_grpc.path=bench/allow',
    policy,
    data,
  ])
  await until(`http://${api}/health?plugins`)
  return party
}
