// Gives advice for each reason of a check: what would change the decision.

import type { Decision, Reason, Refusal } from '../../extauthz/decision.js'
import { LEEWAY_SECONDS } from '../../extauthz/token/claims.js'
import type { Hide } from '../../kit/decision-log.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import { rulePlaceText } from './check-steps.js'
import { claimShown, listShown, scopesText, shown, timeText } from './show-values.js'
import type { RuleStep, TracedStep } from './traced-check.js'

/** The facts that advice is based on. */
export interface AdviceInput {
  readonly entry: AuthzEntry
  readonly decision: Decision
  readonly steps: readonly TracedStep[]
  readonly hide: Hide
  /** Whether the keys are those of the command line, not of a running Gatehouse. */
  readonly isOffline: boolean
}

/** Returns sentences, each of which would change the decision; empty: it allows. */
export const adviceFor = (input: AdviceInput): readonly string[] =>
  input.decision.type === 'allow'
    ? []
    : [...ADVICE[input.decision.reason](input), ...ignoredToken(input)]

type Advise = (input: AdviceInput) => readonly string[]

const say =
  (...sentences: readonly string[]): Advise =>
  () =>
    sentences

/** The policy whose jwtAuthentication it is, with its place. */
const policyText = ({ entry: { policy } }: AdviceInput): string =>
  policy === undefined ? 'the policy' : `${policy.policy} (${policy.source})`

const find = <S extends TracedStep['step']>(
  steps: readonly TracedStep[],
  name: S,
): Extract<TracedStep, { readonly step: S }> | undefined =>
  steps.findLast((step): step is Extract<TracedStep, { readonly step: S }> => step.step === name)

const NEW_TOKEN = 'Get a new token from the provider, and send it with --token'

const audience: Advise = (input) => {
  const step = find(input.steps, 'claims')
  const aud = step && claimShown(step.claims, 'aud', input.hide)
  const wanted = step?.rules.audiences ?? []
  return [
    `aud has ${listShown(aud)}, the policy wants ${shown(wanted)}: ask the provider for a token with that audience, or add its audience to audiences in ${policyText(input)}`,
  ]
}

const issuer: Advise = (input) => {
  const step = find(input.steps, 'issuer')
  const iss = step && claimShown(step.claims, 'iss', input.hide)
  return [
    `iss is ${shown(iss)}, the policy wants ${shown(step?.accepted ?? [])}: use a token of that provider, or correct issuer in ${policyText(input)}; every character counts, including a slash at the end`,
  ]
}

const times: Advise = ({ steps, hide }) => {
  const step = find(steps, 'claims')
  if (step === undefined) return [NEW_TOKEN]
  const [exp, nbf] = [claimShown(step.claims, 'exp', hide), claimShown(step.claims, 'nbf', hide)]
  return step.fault === 'not-yet-valid'
    ? [
        `nbf is ${timeText(nbf)}: compare the clocks of the provider and of this machine, which may differ by ${String(LEEWAY_SECONDS)} s`,
      ]
    : [`exp is ${timeText(exp)}: ${NEW_TOKEN.toLowerCase()}`]
}

const key: Advise = ({ steps, isOffline }) => {
  const step = find(steps, 'key')
  return [
    step?.header.kid === undefined
      ? `The token has no kid, and no key of the key set is for alg ${shown(step?.header.algorithm)}: compare the header of the token with the keys of the provider`
      : `Exactly one key of the key set must have kid ${shown(step.header.kid)} and alg ${shown(step.header.algorithm)}: compare the header of the token with the keys of the provider`,
    ...(isOffline
      ? ['The keys are those of --jwks or --fetch: make sure that they are current']
      : []),
  ]
}

const keySet: Advise = ({ isOffline }) => [
  isOffline
    ? 'Give the keys of the provider: --jwks FILE, or --fetch to fetch them'
    : 'The condition KeySetUnavailable of the policy says why the keys cannot be fetched',
]

/** The place of the rule that denied the request. */
function deniedBy({ entry, decision }: AdviceInput): string {
  const rule = (decision as Refusal).by?.rule
  return rule === undefined ? 'the rules of the route' : rulePlaceText(entry, rule)
}

const deniedByRule: Advise = (input) => [
  `A Deny rule denies if it is true or cannot be evaluated: send a request for which ${deniedBy(input)} is false, or change the rule`,
]

const ruleRequired: Advise = (input) => [
  `Every Require rule must be true: send a request for which ${deniedBy(input)} is true, or change the rule`,
]

const noRuleAllows: Advise = ({ entry, steps }) => {
  const tried = steps.filter((step): step is RuleStep => step.step === 'rule')
  const allows = tried.filter(({ place }) => place.list === 'allow')
  const places = [...new Set(allows.map(({ place }) => rulePlaceText(entry, place)))]
  return [
    `At least one Allow rule must be true: change the request, or a rule: ${places.join(', ')}`,
  ]
}

const scopes: Advise = (input) => {
  const step = find(input.steps, 'scopes')
  const held = scopesText(step?.claims ?? {}, input.hide)
  return [
    `The request needs the scopes ${shown(step?.needed ?? [])}, and ${held} (${deniedBy(input)}): ask the provider for a token with these scopes, as MCP clients do on this answer`,
  ]
}

/** mcp requires mode Strict. */
const noToken: Advise = (input) => [
  'Send a token: --token FILE, or - for standard input',
  input.entry.challenge === undefined
    ? `To let requests through without one, set mode: Optional in ${policyText(input)}`
    : 'MCP clients get one by logging in, which the challenge of the answer starts',
]

/** In mode Permissive, a rejected token is no cause of a denial, but rules see no claims. */
function ignoredToken({ steps }: AdviceInput): readonly string[] {
  const isIgnored =
    find(steps, 'authentication')?.result === 'anonymous' &&
    find(steps, 'bearer')?.found === 'token'
  return isIgnored
    ? [
        'Send a valid token: mode Permissive ignores one that is rejected, so that the rules see no claims',
      ]
    : []
}

const RETRY = 'Send the request again: the cause is temporary'

const ADVICE: Readonly<Record<Reason, Advise>> = {
  allowed: say(),
  anonymous: say(),
  'no-token': noToken,
  'malformed-header': say(
    'Send exactly one header "Authorization: Bearer TOKEN" of at most 16 KiB',
  ),
  'malformed-token': say(
    'Use a signed JWT: some providers issue opaque tokens unless the client asks for an audience',
  ),
  'malformed-claims': say(
    'Compare the types of the claims: exp and nbf are numbers, aud is one string or several',
  ),
  'wrong-type': say('Use an access token: its typ is JWT or at+jwt, or absent'),
  'wrong-issuer': issuer,
  'unknown-issuer': issuer,
  'wrong-audience': audience,
  'no-expiry': say('Configure the provider to set exp in its tokens'),
  expired: times,
  'not-yet-valid': times,
  'unknown-key': key,
  'bad-signature': say(
    'The token was changed after it was signed, or its key is one of another set: get a new one from the provider',
  ),
  'key-set-unavailable': keySet,
  'key-not-looked-up': say(RETRY, 'If it persists, check whether the provider answers'),
  'unknown-route': say(RETRY),
  'malformed-check': say('This is a bug in Gatehouse: please report it'),
  'too-many-unfinished-messages': say(RETRY),
  'internal-error': say('This is a bug in Gatehouse: please report it'),
  deadline: say(RETRY),
  'broken-policy': say(
    'Correct the policy: `gatehouse check` and its condition on the status page say what is wrong',
  ),
  'no-policy': say(
    'Write a ProxyPolicy with jwtAuthentication or authorization for the route, or omit --require-policy',
  ),
  'origin-not-allowed': (input) => [
    `Add the origin to allowedOrigins in ${policyText(input)}, or send no Origin`,
  ],
  'body-too-large': say('Send a smaller body, or raise --mcp-body-bytes'),
  'body-not-sent': say('Give the body of the request: --body FILE'),
  'too-many-bodies': say(RETRY),
  'not-a-message': say(
    'Send one JSON-RPC message of MCP as application/json: the error in the answer says what is wrong',
  ),
  'header-mismatch': say(
    'Make the headers Mcp-Method, Mcp-Name, MCP-Protocol-Version and Mcp-Param-… agree with the body, in the client or in the proxy that writes them',
  ),
  'no-subject': say(
    'Use a token with a subject: sessions are bound to the claim sub (mcp.bindSession)',
  ),
  'unknown-session': (input) => [
    'Begin a new session, as MCP clients do on this answer: send initialize without Mcp-Session-Id, and then the id of its reply',
    ...(input.isOffline
      ? ['The keys that open sessions are those of --relay-key-file or keyRef']
      : []),
  ],
  probe: say('Send the request without the header gatehouse-probe'),
  'denied-by-rule': deniedByRule,
  'rule-required': ruleRequired,
  'no-rule-allows': noRuleAllows,
  'rule-budget': (input) => [`Simplify ${deniedBy(input)}, or raise --rule-steps and --rule-bytes`],
  'insufficient-scope': scopes,
  'path-trick': say(
    'Send the plain path: no ";", backslash, empty segment, escaped slash or dot segment',
  ),
  'path-mismatch': say('Add the path to the matches of the HTTPRoute'),
}
