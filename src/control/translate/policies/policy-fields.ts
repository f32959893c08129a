// Names the policies behind the parts of a route that no table entry attributes to one: limits, header changes, and what
// has no effect in mode Audit.

import type { PolicyField } from '../../../model/policy-source.js'
import type { Attachment } from './attachments.js'
import type { Audit } from './audit.js'
import type { TranslatedPolicy } from './policies.js'
import { RATE_LIMIT, TRANSFORMATION } from './winners.js'

/** Returns the fields in force first, then those of mode Audit. */
export const policyFieldsOf = ({ policies, audit }: Attachment): readonly PolicyField[] => [
  ...fieldOf(policies.find(RATE_LIMIT.isSet), 'rateLimit', 'enforced'),
  ...fieldOf(policies.find(TRANSFORMATION.isSet), 'transformation', 'enforced'),
  ...(audit === undefined ? [] : auditedFields(audit)),
]

function auditedFields({ policies, jwt }: Audit): readonly PolicyField[] {
  const limits = policies.find(RATE_LIMIT.isSet)
  return [
    ...fieldOf(limits, 'rateLimit', limitsEffect(limits)),
    ...policies
      .filter(TRANSFORMATION.isSet)
      .flatMap((policy) => fieldOf(policy, 'transformation', 'ignored')),
    ...fieldOf(jwt?.jwt?.mcp && jwt, 'jwtAuthentication.mcp', 'ignored'),
  ]
}

/** Limits with a key are not audited: ext_authz computes the keys of those in force alone. */
function limitsEffect(policy: TranslatedPolicy | undefined): PolicyField['effect'] {
  const keyed = policy?.policy.spec.traffic?.rateLimit?.local.map(({ key }) => key !== undefined)
  if (keyed?.includes(true) !== true) return 'audited'
  return keyed.includes(false) ? 'audited in part' : 'ignored'
}

const fieldOf = (
  from: TranslatedPolicy | undefined,
  field: PolicyField['field'],
  effect: PolicyField['effect'],
): readonly PolicyField[] =>
  from === undefined ? [] : [{ policy: from.key, source: from.policy.source, field, effect }]
