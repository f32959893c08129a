// The official Gateway API conformance suite, as its project runs it: flags say which profile, and where the report goes.
package suite

import (
	"flag"
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

var everything = flag.Bool("profile-features", false, "tries every feature of the profile, claimed or not")

func TestConformance(t *testing.T) {
	options := conformance.DefaultOptions(t)
	if *everything {
		profile := suite.GatewayHTTPConformanceProfile
		options.SupportedFeatures = profile.CoreFeatures.Union(profile.ExtendedFeatures).UnsortedList()
	}
	conformance.RunConformanceWithOptions(t, options)
}
