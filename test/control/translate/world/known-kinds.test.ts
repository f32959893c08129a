// Which kind is meant by a reference whose kind and group are not known.

import { expect, test } from 'vitest'
import { backendKinds, kindMeant } from '../../../../src/control/translate/world/known-kinds.js'

const KNOWN = backendKinds('policy.example')

test.each([
  ['', 'ProxyBackend', '; did you mean kind ProxyBackend of group "policy.example"?'],
  [
    'policy.example',
    'ProxyBackends',
    '; did you mean kind ProxyBackend of group "policy.example"?',
  ],
  ['core', 'Service', '; did you mean kind Service of group ""?'],
  ['', 'service', '; did you mean kind Service of group ""?'],
  ['apps', 'Deployment', ''],
  ['', '', ''],
])('group "%s", kind %s', (group, kind, hint) => {
  expect(kindMeant({ group, kind }, KNOWN)).toBe(hint)
})
