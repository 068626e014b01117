package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	name, node, images string
	// One change at a time: the kubelet may repeat a call whose first try is still at work.
	sync.Mutex
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	online := &csi.PluginCapability_VolumeExpansion_{
		VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE},
	}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{Type: online}}}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	response := &csi.NodeGetCapabilitiesResponse{}
	for _, what := range []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
	} {
		response.Capabilities = append(response.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: what}},
		})
	}
	return response, nil
}

func (d *driver) NodeStageVolume(_ context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	d.Lock()
	defer d.Unlock()
	image, err := d.image(r.VolumeId)
	if err != nil {
		return nil, err
	}
	if mounted(r.StagingTargetPath) {
		return &csi.NodeStageVolumeResponse{}, nil
	}
	// A disk can be attached to one node only; two that mount the same ext4 would destroy it.
	if device, err := run("losetup", "--noheadings", "--output", "NAME", "--associated", image); err != nil {
		return nil, err
	} else if device != "" {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is still attached to another node (%s)", r.VolumeId, device)
	}
	if err := os.MkdirAll(r.StagingTargetPath, 0o750); err != nil {
		return nil, err
	}
	if _, err := run("mount", "-t", "ext4", "-o", "loop", image, r.StagingTargetPath); err != nil {
		return nil, err
	}
	if err := d.limit(r.VolumeId, r.StagingTargetPath); err != nil {
		unmount(r.StagingTargetPath)
		return nil, err
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (d *driver) NodeUnstageVolume(_ context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	d.Lock()
	defer d.Unlock()
	return &csi.NodeUnstageVolumeResponse{}, unmount(r.StagingTargetPath)
}

func (d *driver) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	d.Lock()
	defer d.Unlock()
	if mounted(r.TargetPath) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if !mounted(r.StagingTargetPath) {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is not staged", r.VolumeId)
	}
	if err := os.MkdirAll(r.TargetPath, 0o750); err != nil {
		return nil, err
	}
	source := filepath.Join(r.StagingTargetPath, content)
	options := "bind"
	if r.Readonly {
		options = "bind,ro"
	}
	_, err := run("mount", "-o", options, source, r.TargetPath)
	return &csi.NodePublishVolumeResponse{}, err
}

func (d *driver) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	d.Lock()
	defer d.Unlock()
	if err := unmount(r.TargetPath); err != nil {
		return nil, err
	}
	if err := os.Remove(r.TargetPath); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

func (d *driver) NodeExpandVolume(_ context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	d.Lock()
	defer d.Unlock()
	if !mounted(r.StagingTargetPath) {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is not staged", r.VolumeId)
	}
	old, err := d.size(r.VolumeId)
	if err != nil {
		return nil, err
	}
	size := r.GetCapacityRange().GetRequiredBytes()
	if size > old {
		if total, err := capacity(r.StagingTargetPath); err != nil {
			return nil, err
		} else if size > total {
			return nil, status.Errorf(codes.OutOfRange, "volume %s can have %d bytes at most", r.VolumeId, total)
		}
		if err := os.WriteFile(d.sizeFile(r.VolumeId), []byte(strconv.FormatInt(size, 10)), 0o644); err != nil {
			return nil, err
		}
	}
	if err := d.limit(r.VolumeId, r.StagingTargetPath); err != nil {
		return nil, err
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: max(size, old)}, nil
}

func (d *driver) NodeGetVolumeStats(_ context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(r.VolumePath, &fs); err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	total, err := d.size(r.VolumeId)
	if err != nil {
		return nil, err
	}
	available := int64(fs.Bavail) * int64(fs.Bsize)
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: total, Available: available, Used: max(0, total-available)},
		{
			Unit: csi.VolumeUsage_INODES, Total: int64(fs.Files),
			Available: int64(fs.Ffree), Used: int64(fs.Files - fs.Ffree),
		},
	}}, nil
}

// What a Pod sees of the file system, and the file beside it that takes up what lies beyond the volume's size.
const content = "content"
const reserve = "reserve"

// limit leaves exactly the volume's size. The file system is larger from the start, because growing a mounted
// ext4 takes CAP_SYS_RESOURCE, which a machine may lack; giving back reserved blocks takes no right at all.
func (d *driver) limit(volume, at string) error {
	if err := os.Mkdir(filepath.Join(at, content), 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	size, err := d.size(volume)
	if err != nil {
		return err
	}
	total, err := capacity(at)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(at, reserve), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	wanted := max(0, total-size)
	if info.Size() > wanted {
		return file.Truncate(wanted)
	}
	if info.Size() < wanted {
		return syscall.Fallocate(int(file.Fd()), 0, 0, wanted)
	}
	return nil
}

// capacity is all that files can have in the file system.
func capacity(path string) (int64, error) {
	var fs syscall.Statfs_t
	err := syscall.Statfs(path, &fs)
	return int64(fs.Blocks) * int64(fs.Bsize), err
}

func (d *driver) sizeFile(volume string) string {
	return filepath.Join(d.images, filepath.Base(volume)+".size")
}

func (d *driver) size(volume string) (int64, error) {
	text, err := os.ReadFile(d.sizeFile(volume))
	if err != nil {
		return 0, status.Errorf(codes.NotFound, "volume %s: %v", volume, err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

func (d *driver) image(volume string) (string, error) {
	image := filepath.Join(d.images, filepath.Base(volume)+".img")
	if _, err := os.Stat(image); err != nil {
		return "", status.Errorf(codes.NotFound, "volume %s: %v", volume, err)
	}
	return image, nil
}

func mounted(path string) bool {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == path {
			return true
		}
	}
	return false
}

func unmount(path string) error {
	if !mounted(path) {
		return nil
	}
	_, err := run("umount", path)
	return err
}

func run(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", status.Errorf(codes.Internal, "%s %s: %v: %s", program, strings.Join(args, " "), err, text)
	}
	return text, nil
}
